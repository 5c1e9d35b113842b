"""Read eval sets, and the lists of turns that were written before.

Source: the documentation of the Agent Development Kit, "Why evaluate agents" and "Criteria".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.adk.metrics import Metrics, criterion_of, read_metrics
from evals_app.formats.adk.shapes import EvalCase, EvalSet, FunctionCall, Invocation
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.calls import expected_call
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import as_parameter
from evals_app.formats.foreign.plain_keys import with_plain_keys
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json

_VERBATIM = ("args", "tool_input", "state", "initial_state", "final_session_state")
_LISTS = ("tool_uses", "expected_tool_use")
_OLD_CASE = {"name": "eval_id", "data": "conversation", "initial_session": "session_input"}
_OLD = {"tool_name": "name", "tool_input": "args"}
_SIMULATED = (
    "A model plays the user of this case. Here that needs a check by code that ends the conversation,"
    " and this file has none: write the case in the editor, under User. Left out."
)
_NOTHING_LEFT = (
    "No case of this file can be run. A model plays the user of a `conversation_scenario`; here that "
    "needs a check by code that ends the conversation."
)
_NO_TURNS = "A case needs a `conversation`, the list of its turns."
_NOTHING_SAID = "This turn has no message of the user."
_ONE_TALK = "The {} turns of this file are one conversation, as ADK reads it."
_AS_JSON = "The agent gets this list or mapping as JSON."


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read eval sets; each is a suite."""
    for document in documents:
        is_list = isinstance(document.data, list)
        old = {**_OLD, **_OLD_CASE} if is_list else {}
        plain = with_plain_keys(document, verbatim=_VERBATIM, kept=_LISTS, renamed=old)
        yield from _read(Spot(ForeignFile(plain, around)))


def _read(root: Spot) -> Iterator[Draft]:
    reading = root.reading
    name = reading.around.file_name(root.document)
    name = name.removesuffix(".evalset").removesuffix(".test")
    talks = [talk for talk in _conversations(root, name) if talk.turns]
    about = root.part(EvalSet) if isinstance(root.value, dict) else None
    if not talks and reading.is_valid:
        root.say(_NOTHING_LEFT, value="")
    metrics = read_metrics(reading)
    cases = [
        {
            "name": talk.case.eval_id,
            "context_params": _parameters(talk),
            "turns": [Placed(_turn(spot, talk.case, metrics), spot) for spot in talk.turns],
            "final_assertions": metrics.final,
        }
        for talk in talks
    ]
    yield from suite_drafts(
        "adk",
        root,
        (about and (about.name or about.eval_set_id)) or name,
        [Placed(case, talk.spot) for case, talk in zip(cases, talks, strict=True)],
        description=about.description if about else "",
        assertions=metrics.criteria,
    )


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A case, where it is, and where its turns are."""

    case: EvalCase
    spot: Spot
    turns: Sequence[Spot] = field(default=())


def _conversations(root: Spot, name: str) -> Iterator[_Conversation]:
    rows = list((root.at("eval_cases") if isinstance(root.value, dict) else root).entries())
    if any(isinstance(row.value, dict) and "query" in row.value for row in rows):
        if len(rows) > 1:
            root.say(_ONE_TALK.format(len(rows)), level="guess", value="")
        yield _Conversation(EvalCase(eval_id=name), root, rows)
        return
    for spot in rows:
        case = spot.part(EvalCase)
        if case is None:
            continue
        if case.conversation_scenario is not None:
            spot.at("conversation_scenario").say(_SIMULATED, level="loss", checks=1, value="")
        elif not case.conversation:
            spot.say(_NO_TURNS, value="")
        yield _Conversation(case, spot, list(spot.at("conversation").entries()))


def _parameters(talk: _Conversation) -> Json:
    """Return what the agent knows; the oldest files have it in a session of `initial_state`."""
    session, old = talk.case.session_input, talk.case.initial_state
    old = old["session"] if isinstance(old.get("session"), dict) else old
    old = old["state"] if isinstance(old.get("state"), dict) else old
    read: Json = {"user_id": session.user_id} if session.user_id else {}
    for key, value in {**old, **session.state}.items():
        if isinstance(value, list | dict):
            talk.spot.at("session_input", "state", key).say(_AS_JSON, level="warning", value="")
        read[key] = as_parameter(value)
    return read


def _turn(spot: Spot, case: EvalCase, metrics: Metrics) -> Json:
    """Read a turn; the checks of its case come last."""
    turn = spot.part(Invocation)
    if turn is None:
        return {"user": "unread"}
    said = turn.query or turn.user_content.text_said
    if not said.strip():
        spot.say(_NOTHING_SAID, value="")
    expected = turn.reference or turn.final_response.text_said
    checks: list[Json] = []
    calls = _calls(spot, turn)
    if calls is not None and metrics.calls is not None and (calls or metrics.calls.get("exact")):
        tools = [
            expected_call(
                call.name, call.args if metrics.with_args else None, args_at=at.at("args")
            )
            for call, at in calls
        ]
        checks.append({"type": "tool_calls", "tools": tools, **metrics.calls})
    if expected and metrics.reply is not None:
        checks.append(metrics.reply)
    if metrics.reads_rubrics:
        checks += map(criterion_of, (*turn.rubrics, *case.rubrics))
    read: Json = {"user": escape_braces(said), **({"expected": expected} if expected else {})}
    return read | ({"assertions": checks, "inherit": bool(metrics.criteria)} if checks else {})


def _calls(spot: Spot, turn: Invocation) -> list[tuple[FunctionCall, Spot]] | None:
    """Return the calls of a turn with their places; None if it says nothing of calls."""
    steps, at = turn.intermediate_data, spot.at("intermediate_data", "tool_uses")
    if turn.expected_tool_use is not None:
        steps, at = (
            steps.model_copy(update={"tool_uses": turn.expected_tool_use}),
            spot.at(_LISTS[1]),
        )
    if steps.tool_uses is not None or not steps.invocation_events:
        uses = steps.tool_uses
        return None if uses is None else [(call, at.at(n)) for n, call in enumerate(uses)]
    events = spot.at("intermediate_data", "invocation_events")
    return [
        (part.function_call, events.at(n, "content", "parts", k, "function_call"))
        for n, event in enumerate(steps.invocation_events)
        for k, part in enumerate(event.content.parts)
        if part.function_call is not None
    ]
