"""The checks of a suite that apply to conversations that happened outside, and those as its cases.

Each check of the suite for every turn applies, and its rubric, unless it needs what a real
conversation does not have: an expected answer, facts of a case, test data, a model of the agent.
Checks and limits of single cases do not apply.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from django.db.models import Count, F, QuerySet
from django.db.models.functions import Coalesce

from evals_app.engine.graders.effort import Cost, Latency
from evals_app.engine.graders.world import WorldChanges
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.record.trial import Trial, TurnRecord
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    GatesSpec,
    SuiteSpec,
    TurnSpec,
)
from evals_app.models import Execution, Suite, Transcript
from evals_app.runs.starting.freeze import AT_ONCE, CannotStartError, Frozen, archived_text
from fixtures_app.models import EntityType, Fixture

T = TypeVar("T")

NO_TEXT = "(no text)"


class GeneralChecks(NamedTuple):
    """A suite with its general checks only, and sentences about those that are left out."""

    suite: SuiteSpec
    unused: list[str]

    @property
    def test_data(self) -> dict[str, Any]:
        """The parts of a snapshot that judges may read."""
        fixtures = Fixture.objects.filter(slug__in=self.suite.fixtures).order_by("slug")
        return {
            "fixtures": [row.to_spec() for row in fixtures.with_everything()],
            "entity_types": [row.to_spec() for row in EntityType.objects.order_by("slug")],
        }


# What some checks need to know of a conversation: the column, and what is unknown without it.
_KNOWN = {
    "time_ms": "how long replies took is unknown.",
    "agent_cost_usd": "what replies cost is unknown.",
    "tool_calls": "the calls of tools are unknown.",
}


def read_general_checks(
    suite: Suite,
    needs: Needs | None = None,
    *,
    chosen: QuerySet[Execution] | None = None,
    only: AssertionSpec | None = None,
) -> GeneralChecks:
    """Return the checks of a suite that apply to real conversations, and add what they need.

    What is unknown of all `chosen` conversations cannot be checked, either. `only` is a check that is
    tried: it takes the place of all others.

    Raises:
        CannotStartError: it has none, or is archived.
    """
    row = Suite.objects.with_head().get(pk=suite.pk)
    if row.archived_at is not None:
        raise CannotStartError(archived_text(row.slug))
    head = SuiteSpec.model_validate(row.head_mapping())
    if only is not None:
        head = head.model_copy(update={"assertions": [only], "rubric": ""})
    missing = _unknown_of_all(chosen)
    reasons = [(c, _why_not_general(c, missing)) for c in head.assertions if c.enabled]
    general = [check for check, why in reasons if not why]
    unused = list(dict.fromkeys(f"{check.label}: {why}" for check, why in reasons if why))
    # Gates are about the suite's own cases.
    changes = {"assertions": general, "gates": GatesSpec(), "run_rule": "all_cases", "trials": 1}
    spec = head.model_copy(update=changes)
    if not general and spec.rubric_check is None:
        problem = (
            f"Suite {row.slug} has no check that applies to real conversations: they have no expected"
            " answers. Add a check for every turn or a rubric to the suite."
        )
        raise CannotStartError(" ".join([problem, *unused]))
    for check in (*general, spec.rubric_check):
        if needs is not None and check is not None:
            needs.add(check)
    return GeneralChecks(spec, unused)


def _unknown_of_all(chosen: QuerySet[Execution] | None) -> set[str]:
    """Return the columns that no chosen conversation has a value of."""
    if chosen is None:
        return set()
    counts = chosen.order_by().aggregate(**{f"of_{column}": Count(column) for column in _KNOWN})
    return {column for column in _KNOWN if not counts[f"of_{column}"]}


def _why_not_general(check: AssertionSpec, missing: Collection[str]) -> str:
    """Return why a check does not apply to real conversations; empty if it does."""
    if check.lacks_expected:
        return "needs an expected answer."
    if check.grader.needs():
        return "needs facts of a case."
    if isinstance(check.grader, WorldChanges):
        return "looks at changes in test data."
    if check.model == "agent":
        return "is judged by the agent's own model, which is unknown."
    column = _column_of(check)
    return _KNOWN[column] if column in missing else ""


def _column_of(check: AssertionSpec) -> str:
    """Return the column without which nothing can be said about a check; empty if there is none."""
    if isinstance(check.grader, Latency):
        return "time_ms"
    if isinstance(check.grader, Cost):
        return "agent_cost_usd"
    return "tool_calls" if check.grader.family in {"tools", "retrieval"} else ""


def conversations_of(chosen: QuerySet[Execution]) -> Iterator[tuple[str, Trial]]:
    """Yield conversations in order, each with its name and once."""
    place = Coalesce(F("source"), F("pk"))
    rows = chosen.annotate(place=place).order_by("position", "trial").values_list("case", "place")
    pairs = list(dict(rows.iterator(AT_ONCE)).items())
    for start in range(0, len(pairs), AT_ONCE):
        part = pairs[start : start + AT_ONCE]
        stored = Transcript.objects.in_bulk([place for _, place in part])
        for name, place in part:
            trial = stored[place].to_trial() if place in stored else None
            yield name, trial or Trial(name, 1, 1, "")


def in_view_of(rows: Iterable[T], progress: Callable[[int], object] | None) -> Iterator[T]:
    """Yield rows, and report a number of them now and then."""
    count = 0
    for row in rows:
        yield row
        count += 1
        if progress is not None and count == AT_ONCE:
            progress(count)
            count = 0
    if progress is not None:
        progress(count)


def freeze_conversations(
    frozen: Frozen, conversations: Iterable[tuple[str, Trial]], checks: Sequence[AssertionSpec]
) -> set[str]:
    """Add each conversation as a case that has its messages; return those without any reply.

    Those `checks` of the suite that read the whole conversation grade it once, after its last reply.
    Without a reply nothing can be checked, so such a conversation does not become a case.
    """
    unanswered: set[str] = set()
    for name, trial in conversations:
        if trial.turns and not any(map(_is_answered, trial.turns)):
            unanswered.add(name)
        else:
            frozen.add(_as_case(name, trial, checks), trials=0)
    return unanswered


def _as_case(name: str, trial: Trial, checks: Sequence[AssertionSpec]) -> CaseSpec:
    of_replies = [check for check in checks if check.scope != "conversation"]
    before = None if len(of_replies) == len(checks) else of_replies
    last = max((n for n, turn in enumerate(trial.turns) if _is_answered(turn)), default=0)
    turns = [_as_turn(turn, before if n < last else None) for n, turn in enumerate(trial.turns)]
    return CaseSpec(name=name, turns=turns or [TurnSpec(user=NO_TEXT)])


def _as_turn(turn: TurnRecord, checks: list[AssertionSpec] | None) -> TurnSpec:
    user = turn.user if turn.user.strip() else NO_TEXT
    # A message without a reply, such as a last word of thanks, has nothing to check.
    return TurnSpec(user=user, assertions=checks if _is_answered(turn) else [])


def _is_answered(turn: TurnRecord) -> bool:
    return bool(turn.reply or turn.error)
