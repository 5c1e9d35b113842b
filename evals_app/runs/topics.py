"""Ready by topic: reads what the answer about each topic of an agent depends on.

A topic is a tag: that of cases, or of a suite for all its cases. The answer is that of the release
check of each suite, about its enabled cases with the tag alone.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import F, Max, Q, TextField, Window
from django.db.models.functions import Cast, RowNumber

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.comparison import CaseOutcome, CasePair, match_cases
from evals_app.engine.verdicts.release_check import (
    ComparedJudge,
    ReasonKind,
    ReleaseCheck,
    check_release,
)
from evals_app.engine.verdicts.topic_check import (
    SuiteAnswer,
    TopicCases,
    TopicCheck,
    least_trusted,
)
from evals_app.models import (
    Agent,
    Case,
    CaseResult,
    GradeResult,
    Run,
    Suite,
    TopicReadiness,
    Yardstick,
)
from evals_app.runs.ground.remembered import Remembered
from evals_app.runs.judges.calibration import agreements, labels_of
from evals_app.runs.reading.outcomes import outcomes_of
from evals_app.runs.reading.real_topics import RealTopic, real_topics
from evals_app.runs.reading.suite_verdict import with_last_runs
from evals_app.runs.release import (
    Candidate,
    EndedRun,
    FactsBesideCases,
    accepted_failures,
    check_open,
    compared_judge,
    decided_outcomes,
    facts_beside_cases,
    since_ended,
)

LAST_RUNS = 5


class TopicRun(NamedTuple):
    """How the cases of a topic did in an earlier or the last full run of a suite."""

    run: int
    suite: str  # its name
    cases: TopicCases


@dataclass(frozen=True, slots=True)
class TopicStanding:
    """A topic: its cases, the answer about them, and what a person said.

    `simulated` are the cases whose user a model played, where others are written: they are in no rate of
    `cases`, and their suites' runs not among the last ones.
    `last_runs` are the last full runs with cases of it, the oldest first; `judge` is the one that may be
    trusted least of those that decide. `real` is what real conversations say.
    """

    name: str
    suites: Sequence[Suite]
    cases: TopicCases
    simulated: TopicCases
    check: TopicCheck
    last_runs: Sequence[TopicRun]
    judge: ComparedJudge | None
    readiness: TopicReadiness | None
    real: RealTopic


@dataclass(frozen=True, slots=True)
class AgentTopics:
    """The topics of an agent by name, and what people said about topics without cases."""

    agent: Agent
    topics: Sequence[TopicStanding]
    without_cases: Sequence[TopicReadiness]

    def find(self, name: str) -> TopicStanding | None:
        return next((topic for topic in self.topics if topic.name == name), None)


def topics_of(agent: Agent) -> AgentTopics:
    """Return how an agent does on each topic, in a fixed number of queries."""
    suites = list(with_last_runs(agent.suites.current()).order_by("name", "pk"))
    tagged = _tagged_cases(suites)
    read, real = _read_suites(suites, tagged), real_topics(suites)
    readiness = _last_readiness(agent)
    names = sorted({name for tags in tagged.values() for name in tags.topics}, key=_by_name)
    topics = [
        _standing(
            name,
            [part for part in read if name in part.tagged.topics],
            readiness.get(name),
            real.get(name, RealTopic()),
        )
        for name in names
    ]
    known = set(names)
    without = [row for name, row in readiness.items() if name not in known]
    return AgentTopics(agent, topics, without)


def _by_name(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _last_readiness(agent: Agent) -> dict[str, TopicReadiness]:
    """Return what a person said last about each topic."""
    rows = TopicReadiness.objects.filter(agent=agent)
    newest = rows.order_by().values("topic").annotate(newest=Max("pk")).values("newest")
    return {row.topic: row for row in rows.filter(pk__in=newest).order_by("topic")}


# Which cases a topic has


class TaggedCases:
    """The topics of each enabled case of a suite by its name, and the cases of each topic.

    `cases` are names, each with its tags as JSON. `digest` is the same for the same content.
    """

    def __init__(self, of_suite: Iterable[str], cases: Sequence[tuple[str, str]]) -> None:
        common = list(of_suite)
        known = {
            text: tuple(dict.fromkeys([*json.loads(text), *common]))
            for text in {text for _, text in cases}
        }
        self.topics_of = {name: known[text] for name, text in cases}
        self.topics: Counter[str] = Counter()  # how many cases each has
        for topics, count in Counter(self.topics_of.values()).items():
            self.topics.update(dict.fromkeys(topics, count))
        self.digest = hashlib.sha256(json.dumps([common, cases]).encode()).digest()


def _tagged_cases(suites: Sequence[Suite]) -> dict[int, TaggedCases]:
    """Return the cases of suites by their topics."""
    cases: dict[int, list[tuple[str, str]]] = {suite.pk: [] for suite in suites}
    # Many cases have the same tags, so their text is read once.
    as_text = Cast("tags", TextField())
    rows = Case.objects.filter(suite__in=cases, enabled=True).order_by("suite", "position", "pk")
    for suite, name, tags in rows.annotate(as_text=as_text).values_list("suite", "name", "as_text"):
        cases[suite].append((name, tags))
    return {suite.pk: TaggedCases(suite.tags, cases[suite.pk]) for suite in suites}


# What is read of each suite


@dataclass(frozen=True, slots=True)
class _SuiteTopics:
    """What a suite says about its topics; `last_runs` are its last full runs, the newest first."""

    suite: Suite
    tagged: TaggedCases
    run: Run | None
    verdicts: Mapping[str, Counter[Verdict | None]]  # in the run, by topic
    last_runs: Sequence[tuple[int, Mapping[str, Counter[Verdict | None]]]]
    judges: Mapping[str, Sequence[ComparedJudge]]
    checks: Mapping[str, ReleaseCheck]

    @property
    def is_simulated(self) -> bool:
        return self.run is not None and self.run.is_simulated

    def cases(self, topic: str) -> TopicCases:
        found = self.verdicts.get(topic, _NONE)
        return TopicCases.of(found, not_run=self.tagged.topics[topic] - found.total())

    def answer(self, topic: str) -> SuiteAnswer:
        check = self.checks[topic] if self.run else check_open(ReasonKind.NEVER_RUN)
        if self.run:
            run = self.run
            check = replace(check, is_scripted=run.is_scripted, is_simulated=run.is_simulated)
        return SuiteAnswer(self.suite.name, self.suite.score_scale, check)


_NONE: Counter[Verdict | None] = Counter()


def _standing(
    name: str,
    parts: Sequence[_SuiteTopics],
    readiness: TopicReadiness | None,
    real: RealTopic,
) -> TopicStanding:
    has_written = any(part.run and not part.is_simulated for part in parts)
    counted = [part for part in parts if not (has_written and part.is_simulated)]
    left_out = [part for part in parts if has_written and part.is_simulated]
    runs = [
        TopicRun(pk, part.suite.name, TopicCases.of(by_topic[name], not_run=0))
        for part in counted
        for pk, by_topic in part.last_runs
        if name in by_topic
    ]
    return TopicStanding(
        name=name,
        suites=[part.suite for part in parts],
        cases=_add_up(name, counted),
        simulated=_add_up(name, left_out),
        check=TopicCheck([part.answer(name) for part in parts]),
        last_runs=sorted(runs)[-LAST_RUNS:],
        judge=least_trusted([judge for part in parts for judge in part.judges.get(name, ())]),
        readiness=readiness,
        real=real,
    )


def _add_up(name: str, parts: Sequence[_SuiteTopics]) -> TopicCases:
    cases = TopicCases()
    for part in parts:
        cases = cases.and_those(part.cases(name))
    return cases


def _read_suites(
    suites: Sequence[Any], tagged: Mapping[int, TaggedCases]
) -> Sequence[_SuiteTopics]:
    """Return what suites, loaded `with_last_runs`, say about their topics."""
    runs = _runs(suites)
    whole: dict[int, list[Run]] = {suite.pk: [] for suite in suites}
    for run in runs.values():
        if run.is_recent:  # type: ignore[attr-defined]
            whole[run.suite_id or 0].append(run)
    last = {suite.pk: runs.get(suite.verdict_run_id or suite.last_run_id) for suite in suites}
    candidates = [
        Candidate(suite, tested, runs.get(suite.baseline_id))
        for suite in suites
        if (tested := last[suite.pk]) is not None
    ]
    judges = _judges(candidates, tagged)
    checks = _checks(candidates, tagged, judges)
    telling = {run.pk: run for rows in whole.values() for run in rows}
    telling |= {candidate.run.pk: candidate.run for candidate in candidates}
    verdicts = _verdicts(telling.values(), tagged)
    return [
        _SuiteTopics(
            suite,
            tagged[suite.pk],
            last[suite.pk],
            verdicts[tested.pk] if (tested := last[suite.pk]) else {},
            [
                (row.pk, verdicts[row.pk])
                for row in whole[suite.pk]
                if row.is_simulated == whole[suite.pk][0].is_simulated
            ],
            judges.get(suite.pk, {}),
            checks.get(suite.pk, {}),
        )
        for suite in suites
    ]


def _runs(suites: Sequence[Any]) -> dict[int, Run]:
    """Return the runs that the answer depends on, without their summaries; `is_recent` are the last."""
    named = {
        key
        for suite in suites
        for key in (suite.verdict_run_id, suite.last_run_id, suite.baseline_id)
        if key
    }
    place = Window(RowNumber(), partition_by=F("suite"), order_by=F("pk").desc())
    whole = Run.objects.suite_verdicts().filter(suite__in=[suite.pk for suite in suites])
    recent = whole.annotate(place=place).filter(place__lte=LAST_RUNS).values("pk")
    is_recent = Q(pk__in=recent)
    rows = Run.objects.filter(is_recent | Q(pk__in=named)).annotate(is_recent=is_recent)
    return {run.pk: run for run in rows.defer("summary").order_by("-pk")}


# Verdicts of runs by topic

_ByTopic = Mapping[str, Counter[Verdict | None]]
_Tagged = tuple[EndedRun, bytes]  # a run, and the digest of the tags
_known_verdicts: Remembered[_Tagged, _ByTopic] = Remembered(1000)
_VERDICTS: dict[str, Verdict | None] = {"": None, **{verdict.value: verdict for verdict in Verdict}}


def _verdicts(runs: Iterable[Run], tagged: Mapping[int, TaggedCases]) -> dict[int, _ByTopic]:
    """Return by run and topic how many of its cases have which verdict, as people decided it."""
    keys = {(EndedRun.of(run), tagged[run.suite_id or 0].digest): run for run in runs}
    known = _known_verdicts.of(keys)
    new = {key: run for key, run in keys.items() if key not in known}
    plain = [run.pk for run in new.values() if not run.reviewed]
    found: dict[int, list[tuple[str, Verdict | None]]] = {run.pk: [] for run in new.values()}
    if plain:
        results = CaseResult.objects.filter(run__in=plain).values_list("run", "name", "verdict")
        for pk, name, verdict in results.iterator(chunk_size=2000):
            found[pk].append((name, _VERDICTS[verdict]))
    for pk in found.keys() - set(plain):
        found[pk] = [(case.name, case.verdict) for case in decided_outcomes(pk).values()]
    read = {
        key: _count(found[run.pk], tagged[run.suite_id or 0].topics_of) for key, run in new.items()
    }
    _known_verdicts.keep(read)
    known |= read
    return {run.pk: known[key] for key, run in keys.items()}


def _count(
    cases: Iterable[tuple[str, Verdict | None]], topics_of_case: Mapping[str, Collection[str]]
) -> _ByTopic:
    alike = Counter((topics_of_case.get(name, ()), verdict) for name, verdict in cases)
    by_topic: defaultdict[str, Counter[Verdict | None]] = defaultdict(Counter)
    for (topics, verdict), count in alike.items():
        for topic in topics:
            by_topic[topic][verdict] += count
    return dict(by_topic)


# Judges by topic

_Judged = Mapping[str, frozenset[int]]  # the keys of judged criteria
_known_judged: Remembered[_Tagged, _Judged] = Remembered(1000)


def _judges(
    candidates: Sequence[Candidate], tagged: Mapping[int, TaggedCases]
) -> dict[int, dict[str, list[ComparedJudge]]]:
    """Return the judges that decide by suite and topic, compared with people or not."""
    judged = _criteria_by_topic(candidates, tagged)
    wanted = {key for topics in judged.values() for keys in topics.values() for key in keys}
    yardsticks = labels_of(Yardstick.objects.filter(pk__in=wanted)) if wanted else {}
    known = agreements(yardsticks.values())
    found: dict[int, dict[str, list[ComparedJudge]]] = {}
    for suite, run, _ in candidates:
        found[suite.pk] = {
            topic: [
                compared_judge(
                    yardsticks[key].digest,
                    yardsticks[key].criterion,
                    known.get(yardsticks[key].digest, Agreement()),
                    least=suite.min_judge_agreement,
                )
                for key in sorted(keys)
            ]
            for topic, keys in judged[run.pk].items()
        }
    return found


def _criteria_by_topic(
    candidates: Sequence[Candidate], tagged: Mapping[int, TaggedCases]
) -> dict[int, _Judged]:
    """Return by run and topic what judges decided in its cases."""
    keys = {
        (EndedRun.of(run), tagged[suite.pk].digest): (suite, run) for suite, run, _ in candidates
    }
    known = _known_judged.of(keys)
    new = {run.pk: (key, suite) for key, (suite, run) in keys.items() if key not in known}
    found: dict[int, defaultdict[str, set[int]]] = {pk: defaultdict(set) for pk in new}
    if new:
        grades = GradeResult.objects.filter(
            execution__run__in=new, yardstick__isnull=False, weight__gt=0
        )
        columns = ("execution__run", "execution__case", "yardstick")
        for pk, case, yardstick in grades.values_list(*columns).order_by().distinct():
            _, suite = new[pk]
            for topic in tagged[suite.pk].topics_of.get(case, ()):
                found[pk][topic].add(yardstick)
    read = {
        key: {topic: frozenset(criteria) for topic, criteria in found[pk].items()}
        for pk, (key, _) in new.items()
    }
    _known_judged.keep(read)
    known |= read
    return {run.pk: known[key] for key, (_, run) in keys.items()}


# The answers


class _Asked(NamedTuple):
    """What the answers about the topics of a suite depend on."""

    run: EndedRun
    base: EndedRun | None
    beside: FactsBesideCases
    tags: bytes
    judges: tuple[tuple[str, tuple[ComparedJudge, ...]], ...]


_known_checks: Remembered[_Asked, Mapping[str, ReleaseCheck]] = Remembered(300)


def _checks(
    candidates: Sequence[Candidate],
    tagged: Mapping[int, TaggedCases],
    judges: Mapping[int, Mapping[str, Sequence[ComparedJudge]]],
) -> dict[int, Mapping[str, ReleaseCheck]]:
    """Return the answers about topics, by suite and topic."""
    accepted, since = accepted_failures(candidates), since_ended(candidates)
    beside = facts_beside_cases(candidates, accepted, since)
    asked = {
        _Asked(
            EndedRun.of(of.run),
            EndedRun.of(of.base) if of.base else None,
            beside[of.suite.pk],
            tagged[of.suite.pk].digest,
            tuple((topic, tuple(found)) for topic, found in judges[of.suite.pk].items()),
        ): of
        for of in candidates
    }
    known = _known_checks.of(asked)
    new = {key: of for key, of in asked.items() if key not in known}
    bases = [of.base.pk for of in new.values() if of.base]
    plain = [of.run.pk for of in new.values() if not of.run.reviewed]
    outcomes: dict[int, Mapping[str, CaseOutcome]] = {}
    if new:
        outcomes |= outcomes_of([*bases, *plain])
    read = {}
    for key, of in new.items():
        head = decided_outcomes(of.run.pk) if of.run.reviewed else outcomes[of.run.pk]
        before = outcomes[of.base.pk] if of.base else {}
        pairs = match_cases(before, head)
        read[key] = dict(_check_topics(key, pairs, tagged[of.suite.pk]))
    _known_checks.keep(read)
    known |= read
    return {of.suite.pk: known[key] for key, of in asked.items()}


def _check_topics(
    asked: _Asked, pairs: Iterable[CasePair], tagged: TaggedCases
) -> Iterator[tuple[str, ReleaseCheck]]:
    by_topic: defaultdict[str, list[CasePair]] = defaultdict(list)
    for pair in pairs:
        if pair.head is not None:  # others have not run, if they exist at all
            for topic in tagged.topics_of.get(pair.name, ()):
                by_topic[topic].append(pair)
    judges = dict(asked.judges)
    for topic, count in tagged.topics.items():
        of_topic = by_topic.get(topic, [])
        beside = asked.beside._replace(judges=judges.get(topic, ()))
        facts = beside.with_cases(
            of_topic, has_base=asked.base is not None, not_run=count - len(of_topic)
        )
        yield topic, check_release(facts)
