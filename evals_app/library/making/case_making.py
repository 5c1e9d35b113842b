"""Make a case of a conversation, or add to its case, with the checks that a person ticked."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from pydantic import ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.proposing.case_making import case_made, case_with, is_about
from evals_app.engine.proposing.proposals import KeptChecks, Proposal, keep_checks
from evals_app.engine.proposing.recorded_tools import Recording, record_tools
from evals_app.engine.specs.agent_spec import OUTSIDE, AgentSpec
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.library.changes.edits import note_edit
from evals_app.library.changes.spec_changes import readable, same
from evals_app.library.making.observing import ObservedConversation
from evals_app.library.saving import (
    CaseDoesNotFitError,
    add_case,
    change_case,
    save_agent,
    save_suite,
)
from evals_app.models import Agent, Attachment, Case, Execution, Suite
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.models import Fixture

MAX_SUITES = 200  # to choose from
_NAME_CHARS = 200
_SLUG_CHARS = 100
_OPENING_CHARS = 80
_RECORDED = "-recorded"
_IS_COPY = re.compile(r"-recorded(-\d+)?$")

ADD_CASE = "evals_app.add_case"
ADD_SUITE = "evals_app.add_suite"
COPY_AGENT = ("evals_app.add_agent", "evals_app.change_agent")


class CannotMakeError(CannotError):
    """The case cannot be made like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOptions:
    """What a person wants: `suite` None means a new one, `name` empty one that is free.

    `asks_again`: the earlier messages are sent again as turns. `replays`: the user's words are said
    only while they fit. `is_recorded`: tools answer as
    recorded, in a copy of the agent.
    """

    keys: Collection[str]
    name: str = ""
    suite: Suite | None = None
    asks_again: bool = False
    replays: bool = False
    is_recorded: bool = False

    def permissions(self, execution: Execution) -> tuple[str, ...]:
        """Return the rights that it takes to make this of a conversation."""
        needs_suite = self.is_recorded and execution.run.is_of_real_conversations
        new_suite = (ADD_SUITE,) if self.suite is None or needs_suite else ()
        return (ADD_CASE, *new_suite, *(COPY_AGENT if self.is_recorded else ()))


def own_suite(execution: Execution) -> Suite | None:
    """Return the suite of the run, if it is still in use and takes the case.

    Cases that are made are written ones, so a suite with simulated users takes none.
    """
    return _any_suite().filter(pk=execution.run.suite_id or 0).first()


def suites_for(execution: Execution) -> list[Suite]:
    """Return the suites that can take the case: that of the run, and others of its agent.

    A real conversation fits into any suite, because its agent is none of this site.
    """
    own, run = own_suite(execution), execution.run
    rest = _any_suite() if run.is_of_real_conversations else _suites_of([run.agent_slug])
    others = (suite for suite in rest[:MAX_SUITES] if suite != own)
    return [*([own] if own else []), *others]


def recorded_suites(execution: Execution) -> list[Suite]:
    """Return the suites of copies of the agent whose tools answer as recorded."""
    begin = _recorded_slug(execution.run.agent_slug)
    copies = Agent.objects.filter(slug__startswith=begin).values_list("slug", flat=True)
    return list(_suites_of(copies[:MAX_SUITES])[:MAX_SUITES])


def _any_suite() -> QuerySet[Suite]:
    takes_it = Suite.objects.current().for_written_cases()
    return takes_it.select_related("agent").order_by("name", "pk")


def _suites_of(agents: Iterable[str]) -> QuerySet[Suite]:
    return _any_suite().filter(agent__slug__in=list(agents))


def recording_of(execution: Execution, observed: ObservedConversation) -> Recording | None:
    """Return what tools of the agent answered; None if it has none, or it is gone.

    Of a real conversation it is what tools of the suite's agent would answer.
    """
    agent = _agent(execution)
    if agent is None and execution.run.is_of_real_conversations:
        suite = own_suite(execution)
        agent = suite.agent if suite else None
    return None if agent is None else _recording(agent, observed)


def proposed_name(execution: Execution, observed: ObservedConversation) -> str:
    """Return a name for the case; it may be taken."""
    run = execution.run
    if observed.trial.turns and (run.suite_id is None or run.is_of_real_conversations):
        history = observed.trial.history
        first = history[0].text if history else observed.trial.turns[0].user
        opening = " ".join(first.split())
        return cut_middle(opening, _OPENING_CHARS)[:_NAME_CHARS] or execution.case
    return f"{execution.case[: _NAME_CHARS - 20]}, run {execution.run_id}"


@transaction.atomic
def make_case(
    execution: Execution, observed: ObservedConversation, wanted: CaseOptions, *, by: object
) -> Case:
    """Write the case, and with it a new suite and a copy of the agent if they are wanted.

    Raises:
        CannotMakeError: something does not fit.
        CannotExpectError: the checks contradict each other, or the conversation itself would fail.
    """
    kept = keep_checks(observed.trial, observed.proposals(), wanted.keys)
    note = f"Made from conversation {execution.pk}."
    if execution.run.is_of_real_conversations:
        suite = suite_for_real(
            observed, wanted.suite, is_recorded=wanted.is_recorded, note=note, by=by
        )
    else:
        suite = _suite_for(execution, observed, wanted, note=note, by=by)
    spec = case_spec(execution, observed, suite, wanted, kept)
    return write_case(suite, spec, note=note, by=by)


def write_case(suite: Suite, spec: CaseSpec, *, note: str, by: object) -> Case:
    """Add a case to a suite, and note who did.

    Raises:
        CannotMakeError: the name is taken, or something does not fit.
    """
    try:
        case = add_case(suite, spec)
    except CaseDoesNotFitError as error:
        key = "name" if error.key == "name" else "suite"
        raise CannotMakeError(str(error), key=key) from error
    note_edit(case, user=by, note=note, is_new=True)
    return case


def _suite_for(
    execution: Execution,
    observed: ObservedConversation,
    wanted: CaseOptions,
    *,
    note: str,
    by: object,
) -> Suite:
    """Return the suite that takes the case, which is made if it is to be new."""
    agent = _agent(execution)
    if wanted.is_recorded:
        agent = _copy(execution, observed, wanted.suite, note=note, by=by)
    elif wanted.suite is not None and wanted.suite not in suites_for(execution):
        raise CannotMakeError("Choose a suite of the same agent.", key="suite")
    return wanted.suite or _new_suite(execution, agent, note=note, by=by)


def suite_for_real(
    observed: ObservedConversation,
    suite: Suite | None,
    *,
    is_recorded: bool,
    note: str,
    by: object,
) -> Suite:
    """Return the suite that takes a case of a real conversation.

    If tools are to answer as recorded, that is the suite of a copy of the chosen suite's agent.

    Raises:
        CannotMakeError: none is chosen, or no tool can answer as recorded.
    """
    if suite is None:
        raise CannotMakeError("Choose the suite that is to have the case.", key="suite")
    if not is_recorded:
        return suite
    agent = suite.agent
    recording = _recording(agent, observed)
    if recording is None or not recording.tools:
        raise CannotMakeError(
            f"{agent} has no tools whose results can be used.", key="canned_tools"
        )
    if _IS_COPY.search(agent.slug):
        _write_agent(_add_recording(recording, agent), note=note, by=by)
        return suite
    copy = _write_agent(_free_copy(agent, recording), note=note, by=by)
    return _suites_of([copy.slug]).first() or _suite_like(suite, copy, note=note, by=by)


@dataclass(frozen=True, slots=True)
class LiveCase:
    """The case of a conversation as it is today."""

    row: Case
    spec: CaseSpec
    observed: ObservedConversation

    @classmethod
    def of(cls, execution: Execution, observed: ObservedConversation) -> "LiveCase | None":
        """Return the case; None if it was deleted or renamed, or no longer validates."""
        rows = Case.objects.filter(suite__isnull=False, suite=execution.run.suite_id)
        row = rows.filter(name=execution.case).first()
        spec = None if row is None else readable(row)
        return None if row is None or spec is None else cls(row, spec, observed)

    @property
    def is_edited(self) -> bool:
        """Whether it has changed since the conversation."""
        return self.observed.frozen is None or not same(self.observed.frozen, self.spec)

    @property
    def asks_the_same(self) -> bool:
        return is_about(self.spec, self.observed.trial)

    def proposals(self) -> list[Proposal]:
        """Return what can be added; of turns nothing is ticked, which have checks of their own."""
        return [
            replace(proposal, is_ticked=proposal.is_ticked and proposal.turn is None)
            for proposal in self.observed.proposals()
            if proposal.turn is None or self.asks_the_same
        ]


@transaction.atomic
def add_checks(
    execution: Execution, observed: ObservedConversation, keys: Collection[str], *, by: object
) -> Case:
    """Add what was ticked to the case that ran.

    Raises:
        CannotMakeError: the case is gone, or has all of it already.
        CannotExpectError: the checks contradict each other, or the conversation itself would fail.
    """
    # Two people may click at the same moment.
    Suite.objects.select_for_update().filter(runs=execution.run_id).first()
    case = LiveCase.of(execution, observed)
    if case is None:
        raise CannotMakeError("The case was deleted or renamed.")
    kept = keep_checks(observed.trial, case.proposals(), keys)
    if change_case(case.row, case_with(case.spec, kept)) == "unchanged":
        raise CannotMakeError("Tick something that the case does not have yet.")
    note_edit(case.row, user=by, note=f"Checks added from conversation {execution.pk}.")
    return case.row


def case_spec(
    execution: Execution,
    observed: ObservedConversation,
    suite: Suite,
    wanted: CaseOptions,
    kept: KeptChecks,
) -> CaseSpec:
    """Return the case of a conversation, with a name that is free in the suite.

    Raises:
        CannotMakeError: something does not fit, or a file of the conversation is gone.
    """
    name = wanted.name or _free(
        proposed_name(execution, observed),
        lambda name: suite.cases.filter(name=name).exists(),
        length=_NAME_CHARS,
    )
    try:
        spec = case_made(
            observed.trial,
            kept,
            name=name,
            description=f"Made from conversation {execution.pk} of run {execution.run_id}.",
            frozen=observed.frozen,
            asks_again=wanted.asks_again,
            replays=wanted.replays,
        )
    except ValidationError as error:
        raise CannotMakeError(" ".join(messages_of(error))) from error
    shown = {file.sha256 or "": file.name for turn in spec.turns for file in turn.files}
    if missing := shown.keys() - Attachment.objects.keep(shown):
        names = ", ".join(sorted(shown[sha256] for sha256 in missing))
        raise CannotMakeError(f"These files are no longer stored: {names}.")
    return spec


def _agent(execution: Execution) -> Agent | None:
    return Agent.objects.filter(slug=execution.run.agent_slug).first()


def _recording(agent: Agent, observed: ObservedConversation) -> Recording | None:
    if agent.driver in OUTSIDE:
        return None
    try:
        return record_tools(agent.to_spec(), observed.trial)
    except ValidationError:
        return None


def _recorded_slug(slug: str) -> str:
    return f"{slug[: _SLUG_CHARS - len(_RECORDED) - 4].rstrip('-')}{_RECORDED}"


def _copy(
    execution: Execution,
    observed: ObservedConversation,
    suite: Suite | None,
    *,
    note: str,
    by: object,
) -> Agent:
    """Return a copy of the agent that answers as recorded: that of the suite, an earlier or a new one."""
    agent = _agent(execution)
    recording = None if agent is None else _recording(agent, observed)
    if agent is None or recording is None or not recording.tools:
        raise CannotMakeError(
            "This agent has no tools whose results can be used.", key="canned_tools"
        )
    if suite is not None:
        if not suite.agent.slug.startswith(_recorded_slug(agent.slug)):
            raise CannotMakeError(
                "Tools answer as recorded in a copy of the agent. Choose a suite of that copy, or a new"
                " suite.",
                key="suite",
            )
        return _write_agent(_add_recording(recording, suite.agent), note=note, by=by)
    return _write_agent(_free_copy(agent, recording), note=note, by=by)


def _add_recording(recording: Recording, copy: Agent) -> AgentSpec:
    spec = recording.added_to(copy.to_spec())
    if spec is None:
        raise CannotMakeError(
            f"{copy} already answers some of these calls otherwise. Choose another suite.",
            key="suite",
        )
    return spec


def _free_copy(agent: Agent, recording: Recording) -> AgentSpec:
    """Return the first copy that answers this too, or a new one."""
    for slug, name in _numbered_names(_recorded_slug(agent.slug), f"{agent.name[:180]} (recorded)"):
        known = Agent.objects.filter(slug=slug).first()
        if known is None:
            return recording.copy_of(agent.to_spec(), slug=slug, name=name)
        if (spec := recording.added_to(known.to_spec())) is not None:
            return spec
    raise AssertionError("numbers never end")


def _write_agent(spec: AgentSpec, *, note: str, by: object) -> Agent:
    saved = save_agent(spec)
    agent = Agent.objects.get(slug=spec.slug)
    if saved != "unchanged":
        note_edit(agent, user=by, note=note, is_new=saved == "created")
    return agent


def _new_suite(execution: Execution, agent: Agent | None, *, note: str, by: object) -> Suite:
    """Write a suite for the agent, like the one of the run if that still exists."""
    if agent is None:
        raise CannotMakeError("The agent was deleted, so it cannot have a new suite.", key="suite")
    own: Suite | None = execution.run.suite
    if own is not None:
        return _suite_like(own, agent, note=note, by=by)
    used = json.loads(execution.run.snapshot.content).get("suite", {}).get("fixtures", [])
    stored = Fixture.objects.filter(slug__in=used).values_list("slug", flat=True)
    written: dict[str, Any] = {"fixtures": list(stored), "cases": []}
    title, slug = f"Conversations with {agent.name}"[:190], f"{agent.slug[:80]}-conversations"
    return _write_suite(written, agent, title, slug, note=note, by=by)


def _suite_like(own: Suite, agent: Agent, *, note: str, by: object) -> Suite:
    """Write a suite for an agent that is like another one, without its cases."""
    written = Suite.objects.with_head().get(pk=own.pk).head_mapping()
    is_copy = agent.pk != own.agent_id
    title = f"{own.name[:180]} (recorded)" if is_copy else f"{own.name[:190]} 2"
    slug = f"{own.slug[:80]}{_RECORDED if is_copy else ''}"
    return _write_suite(written, agent, title, slug, note=note, by=by)


def _write_suite(
    written: dict[str, Any], agent: Agent, title: str, slug: str, *, note: str, by: object
) -> Suite:
    free_slug, name = next(
        pair
        for pair in _numbered_names(slug, title)
        if not Suite.objects.filter(slug=pair[0]).exists()
    )
    changes = {"suite": name, "slug": free_slug, "agent": agent.slug}
    spec = SuiteSpec.model_validate(written | changes, context=FROZEN)
    save_suite(spec)
    suite = Suite.objects.select_related("agent").get(slug=spec.slug)
    note_edit(suite, user=by, note=note, is_new=True)
    return suite


def _numbered_names(slug: str, name: str) -> Iterator[tuple[str, str]]:
    yield slug, name
    for number in count(2):
        yield f"{slug}-{number}", f"{name} {number}"


def _free(name: str, is_taken: Callable[[str], bool], *, length: int) -> str:
    names = (
        name if number == 1 else f"{name[: length - 8].rstrip()} {number}" for number in count(1)
    )
    return next(free for free in names if not is_taken(free))
