"""Ready by topic, in words: the same on the page, in files, and in the command."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal

from evals_app.engine.statistics.agreement import Proportion
from evals_app.engine.statistics.trust import Standing
from evals_app.engine.verdicts.topic_check import SuiteReason, TopicCases, TopicCheck
from evals_app.reports.answers.agreement import NOT_COMPARED
from evals_app.reports.answers.release import ANSWERS, ReasonWords, reason_words
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.words.coverage import marks_of
from evals_app.reports.words.figures import UNKNOWN, count_text, whole_interval
from evals_app.reports.words.shares import rate_text

# A test compares them with the choices of the model.
ReadinessState = Literal["ready", "limited", "fix_source", "people_only"]

STATES: dict[ReadinessState, str] = {
    "ready": "Ready",
    "limited": "Ready with limits",
    "fix_source": "Fix the source first",
    "people_only": "People only",
}
NOT_SET = "Not set"
_SOON_DAYS = 30


def topic_word(check: TopicCheck) -> str:
    """Return the answer in a word, and whether it is about a script or simulated users."""
    return f"{ANSWERS[check.answer]}{marks_of(check)}"


def topic_sentence(check: TopicCheck) -> str:
    """Return the answer in one line; of several suites, the one that gives the reason is named."""
    return f"{topic_word(check)}: {topic_reason_words(check.reasons[0], check).sentence}"


def topic_reason_words(reason: SuiteReason, check: TopicCheck) -> ReasonWords:
    """Return a reason, or a note, in words; of several suites, the one that gives it is named."""
    of = reason.of
    words = reason_words(reason.reason, of.check, scale=of.scale)
    if len(check.answers) == 1:
        return words
    return words._replace(sentence=f"{of.suite}: {words.sentence}")


def passed_text(cases: TopicCases) -> str:
    """Write how many cases passed of those that passed or failed: `18 of 20`."""
    if not cases.decided:
        return f"{UNKNOWN} of {cases.total:,}"
    return f"{cases.passed:,} of {cases.decided:,}"


def passed_detail(cases: TopicCases, simulated: int) -> str:
    """Write the range of the share, and what else the topic has: `70 to 97 %, 2 not run, 3 simulated`."""
    parts = [
        whole_interval(cases.interval) if cases.interval else "",
        *(
            f"{count:,} {words}"
            for count, words in (
                (cases.measured, "measured"),
                (cases.not_graded, "not graded"),
                (cases.not_run, "not run"),
                (simulated, "simulated, not counted"),
            )
            if count
        ),
    ]
    return ", ".join(filter(None, parts))


def cases_of(topic: Json) -> TopicCases:
    """Return the cases of a topic that REST describes."""
    failed = topic["decided"] - topic["passed"]
    rest = (topic[key] for key in ("measured", "not_graded", "not_run"))
    return TopicCases(topic["passed"], failed, *rest)


def judge_text(judge: Json | None) -> str:
    """Write whether the judge may be trusted: `Trusted: agrees with people in 29 of 30`."""
    if judge is None:
        return "No judge decides"
    standing = Standing(judge["standing"])
    word = "Trusted" if standing.is_trusted else "Not known"
    word = "Not trusted" if standing.is_distrusted else word
    labels = judge["labels"]
    agrees = f"agrees with people in {judge['agreed']:,} of {labels:,}" if labels else NOT_COMPARED
    return f"{word}: {agrees}"


def state_text(readiness: Json | None) -> str:
    """Write what a person said, and whether it is over."""
    if readiness is None:
        return NOT_SET
    return f"{STATES[readiness['state']]}{' (over)' if readiness['is_over'] else ''}"


def last_runs_text(runs: Sequence[Json]) -> str:
    """Write how many cases passed in each of the last runs, the oldest first: `17 of 20, 18 of 20`."""
    shares = (
        passed_text(TopicCases(run["passed"], run["decided"] - run["passed"])) for run in runs
    )
    return ", ".join(shares)


def real_text(real: Json) -> str:
    """Write how many real conversations failed: `12 of 40: 30 %, likely 18 to 45 %`."""
    return rate_text(Proportion(real["failed"], real["graded"])) if real["graded"] else ""


def grown_text(group: Json) -> str:
    """Write that a group grew: `“Old price” is found more often since ...: 15 of 60, before 3 of 120`."""
    return (
        f"“{group['group']}” is found more often since {group['began_at'][:10]}: {group['failed']:,} of"
        f" {group['graded']:,}, before {group['failed_before']:,} of {group['graded_before']:,}"
    )


def summary_text(topics: Json) -> str:
    """Write for how many topics people said what; what is over does not count."""
    all_topics = topics["topics"]
    if not all_topics:
        return "No case has a tag yet."
    counts = dict.fromkeys(STATES, 0)
    for topic in all_topics:
        said = topic["readiness"]
        if said and not said["is_over"]:
            counts[said["state"]] += 1
    parts = [f"{count:,} {STATES[state].lower()}" for state, count in counts.items() if count]
    rest = len(all_topics) - sum(counts.values())
    if not parts:
        return f"{count_text(len(all_topics), 'topic')}, for which nothing is set yet."
    parts += [f"{rest:,} not set"] if rest else []
    return f"{count_text(len(all_topics), 'topic')}: {', '.join(parts)}."


def remarks(topics: Json, *, today: date) -> Iterator[str]:
    """Return what contradicts the words of people, or puts an end to them."""
    for topic in topics["topics"]:
        said, name = topic["readiness"], topic["topic"]
        if said is None:
            continue
        state = STATES[said["state"]].lower()
        if said["is_over"]:
            yield f"“{name}” was {state} until {said['until']}. That day is over: set it again."
            continue
        if said["state"] in _MAY_ANSWER and topic["answer"] != "yes":
            yield f"“{name}” is set as {state}, but the tests say “{topic['sentence']}”"
        if said["state"] in _MAY_ANSWER:
            for group in topic["real_conversations"]["grown"]:
                if group["began_at"] > said["created_at"]:
                    yield (
                        f"“{name}” is set as {state}, but in real conversations {grown_text(group)}."
                    )
        left = _days_left(said["until"], today)
        if left is not None and left <= _SOON_DAYS:
            yield f"“{name}” is {state} until {said['until']}, {_in_days(left)}."
    for lost in topics["without_cases"]:
        state = STATES[lost["state"]].lower()
        yield f"“{lost['topic']}” is set as {state}, but no case has this tag any more."


_MAY_ANSWER: tuple[ReadinessState, ...] = ("ready", "limited")


def _days_left(until: str | None, today: date) -> int | None:
    return None if until is None else (date.fromisoformat(until) - today).days


def _in_days(days: int) -> str:
    return "today" if days == 0 else f"in {count_text(days, 'day')}"
