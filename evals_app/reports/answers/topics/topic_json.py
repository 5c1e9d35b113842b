"""Ready by topic, as REST, files and the command give it."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from pydantic import Field

from evals_app.engine.statistics.trust import Standing
from evals_app.engine.verdicts.release_check import ComparedJudge, ReleaseAnswer
from evals_app.engine.verdicts.topic_check import SuiteReason
from evals_app.reports.answers.agreement import standing_in_words
from evals_app.reports.answers.release import ReleaseReasonJson, reason_json
from evals_app.reports.answers.run_answers import Answer, Interval, Json, in_json
from evals_app.reports.answers.topics.topic_words import ReadinessState, topic_sentence


class TopicReasonJson(ReleaseReasonJson):
    """A reason for the answer, or something that is said beside it."""

    suite: str = Field(description="The name of the suite that gives it.")


class TopicRunJson(Answer):
    """How the cases of the topic did in a full run; the others of them were not graded."""

    run: int
    suite: str = Field(description="Its name.")
    passed: int
    decided: int = Field(description="Cases that passed or failed.")
    cases: int


class TopicJudgeJson(Answer):
    """The judge that may be trusted least, of those that decide about cases of the topic."""

    digest: str
    criterion: str
    standing: Standing
    sentence: str
    labels: int = Field(description="Answers that people graded too.")
    agreed: int = Field(description="On how many of these both agree.")


class TopicReadinessJson(Answer):
    """What a person said about the topic."""

    state: ReadinessState
    owner: str
    note: str
    until: date | None = Field(description="The last day; null: no end.")
    is_over: bool = Field(description="Whether the last day has passed.")
    by: str = Field(description="The name of the person.")
    created_at: datetime


class GrownGroupJson(Answer):
    """A group of notes on real conversations that grew in the topic, and is not as before yet."""

    group: str
    conversation_set: str = Field(description="Its slug.")
    began_at: datetime
    failed: int = Field(description="Of the `graded` conversations when it was found.")
    graded: int
    failed_before: int
    graded_before: int


class RealConversationsJson(Answer):
    """The real conversations with this topic in the last seven daily gradings."""

    failed: int
    graded: int
    interval: Interval | None = Field(description="95 %, of the share that fails.")
    at: datetime | None = Field(description="Of the last grading; null: none.")
    grown: list[GrownGroupJson]


class TopicJson(Answer):
    """A topic of an agent: the answer of the release check about its cases alone."""

    topic: str
    suites: list[str] = Field(description="The slugs of the suites with cases of it.")
    answer: ReleaseAnswer
    is_scripted: bool = Field(description="Whether the agent or the judge of a run is a script.")
    is_simulated: bool = Field(description="Whether a model played the user in all of its cases.")
    sentence: str = Field(description="The answer in one line.")
    exit_code: int = Field(description="Of the command `decide`: 0 yes, 1 no or worse, 3 not yet.")
    reasons: list[TopicReasonJson]
    notes: list[TopicReasonJson]
    cases: int = Field(description="Enabled cases.")
    passed: int
    decided: int = Field(description="Cases that passed or failed.")
    measured: int
    not_graded: int
    not_run: int = Field(description="Cases that the run does not have.")
    interval: Interval | None = Field(description="95 %, of the share that passes.")
    simulated_left_out: int = Field(
        description="Cases whose user a model played, which no number above counts because others are written."
    )
    last_runs: list[TopicRunJson] = Field(description="Full runs, the oldest first.")
    judge: TopicJudgeJson | None = Field(description="null: no judge decides.")
    real_conversations: RealConversationsJson
    readiness: TopicReadinessJson | None = Field(description="null: no one set it.")


class OneTopicJson(TopicJson):
    """A topic with all that people said about it."""

    history: list[TopicReadinessJson] = Field(description="The newest first.")


class LostTopicJson(TopicReadinessJson):
    """What a person said about a topic that no case has any more."""

    topic: str


class AgentTopicsJson(Answer):
    """What an agent may answer by itself: its topics, which are the tags of cases and suites."""

    agent: str = Field(description="Its slug.")
    name: str
    topics: list[TopicJson]
    without_cases: list[LostTopicJson]


# JSON of what was read; the classes of rows are `runs.topics.TopicStanding` and `TopicReadiness`.


def agent_topics_json(topics: Any, *, today: date) -> Json:
    """Return the topics of an agent as REST gives them."""
    lost = [
        LostTopicJson.of(readiness_json(row, today=today), topic=row.topic)
        for row in topics.without_cases
    ]
    return AgentTopicsJson.of(
        agent=topics.agent.slug,
        name=topics.agent.name,
        topics=[topic_json(topic, today=today) for topic in topics.topics],
        without_cases=lost,
    )


def one_topic_json(topic: object, history: Iterable[object], *, today: date) -> Json:
    """Return a topic as REST gives it, with its history."""
    rows = [readiness_json(row, today=today) for row in history]
    return OneTopicJson.of(topic_json(topic, today=today), history=rows)


def topic_json(topic: Any, *, today: date) -> Json:
    """Return a topic as REST gives it."""
    check, cases, readiness = topic.check, topic.cases, topic.readiness
    return TopicJson.of_object(
        check,
        topic=topic.name,
        suites=[suite.slug for suite in topic.suites],
        sentence=topic_sentence(check),
        reasons=[_reason_json(reason) for reason in check.reasons],
        notes=[_reason_json(note) for note in check.notes],
        cases=cases.total,
        **{key: getattr(cases, key) for key in _COUNTS},
        interval=None if cases.interval is None else list(cases.interval),
        simulated_left_out=topic.simulated.total,
        last_runs=[
            TopicRunJson.of_object(
                run, passed=run.cases.passed, decided=run.cases.decided, cases=run.cases.total
            )
            for run in topic.last_runs
        ],
        judge=None if topic.judge is None else _judge_json(topic.judge),
        real_conversations=_real_json(topic.real),
        readiness=None if readiness is None else readiness_json(readiness, today=today),
    )


def _real_json(real: Any) -> Json:
    return RealConversationsJson.of(
        failed=real.failed.count,
        graded=real.failed.total,
        interval=None if real.failed.interval is None else list(real.failed.interval),
        at=in_json(real.at),
        grown=[
            GrownGroupJson.of_object(
                rise,
                group=rise.group.name,
                conversation_set=rise.group.reading.conversation_set.slug,
                graded=rise.total,
                graded_before=rise.total_before,
            )
            for rise in real.rises
        ],
    )


_COUNTS = ("passed", "decided", "measured", "not_graded", "not_run")


def readiness_json(row: Any, *, today: date) -> Json:
    """Return a `TopicReadiness` as REST gives it."""
    return TopicReadinessJson.of_object(row, by=row.by_name, is_over=row.is_over(today))


def _reason_json(reason: SuiteReason) -> Json:
    of = reason.of
    return TopicReasonJson.of(reason_json(reason.reason, of.check, of.scale), suite=of.suite)


def _judge_json(judge: ComparedJudge) -> Json:
    same = judge.agreement.same_verdict
    return TopicJudgeJson.of_object(
        judge,
        standing=judge.standing.value,
        sentence=" ".join(standing_in_words(judge.agreement, least=judge.least)),
        labels=same.total,
        agreed=same.count,
    )
