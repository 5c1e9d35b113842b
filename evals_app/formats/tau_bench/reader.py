"""Read tasks: each is a case of one turn, or one whose user a model plays, in a suite of its own.

Source: https://github.com/sierra-research/tau2-bench, src/tau2/data_model/tasks.py
"""

from collections.abc import Iterator, Sequence

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.foreign.building import Placed, suite_draft
from evals_app.formats.foreign.chats import is_chat, read_chat
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.plain_keys import with_plain_keys
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json
from evals_app.formats.tau_bench import DIALECT, is_of_instructions, results_in
from evals_app.formats.tau_bench.criteria import checks_of
from evals_app.formats.tau_bench.shapes import TauTask

_VERBATIM = ("arguments", "user_scenario", "initialization_data", "initialization_actions")
_KEPT = ("compare_args", "reward_basis")
_NAME_CHARS = 190  # so that a number fits behind it
_RESULTS = (
    "These are simulations that tau-bench has run: results, not tasks. Import the tasks.json that they "
    "were made of."
)
_OPENING = "Hello"
_MAX_TURNS = 20
_PLAYED = (
    f"A model plays the user as this says. The first message is ours: {_OPENING}. So is the limit of"
    f" {_MAX_TURNS} turns."
)
_ENDLESS = (
    "A model plays the user of this task, and no check by code says when its goal is reached: give it"
    " `actions` or `communicate_info` that `reward_basis` names. Left out."
)
_FIRST = (
    "This is a task of the first tau-bench, and a model plays its user. Write it in the case editor,"
    " under User. Left out."
)
_NOTHING_LEFT = (
    "No task of this file can be run: a model plays their users, and no check by code says when their"
    " goals are reached."
)
_PLAYED_ON = "The agent gets {} and answers once, so no one plays the user. Left out."
_TICKET, _MESSAGES = "the ticket", "the messages of `message_history`"
_UNSENT = (
    "The ticket is sent instead of these messages, which do not end with the user's. Left out."
)
_NOT_MESSAGES = "Expected a list of messages, each with `role` and `content`."


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read tasks; each file is a suite."""
    for document in documents:
        plain = with_plain_keys(document, verbatim=_VERBATIM, kept=_KEPT)
        reading = ForeignFile(plain, around)
        if results_in(document.data):
            reading.say((), _RESULTS, value="")
            yield reading.remarks(DIALECT.name)
        else:
            yield from _read(Spot(reading))


def _read(root: Spot) -> Iterator[Draft]:
    cases = [Placed(case, spot) for spot in _tasks(root) if (case := _case(spot))]
    if not cases and root.reading.is_valid:
        root.say(_NOTHING_LEFT, value="")
    played = [case for case in cases if "simulated_user" in case.part]
    written = [case for case in cases if case not in played]
    name = root.reading.around.file_name(root.document)
    if written or not played:
        yield suite_draft(DIALECT.name, root, name, written)
    if played:
        also = f"{name}, simulated" if written else name
        yield suite_draft(DIALECT.name, root, also, played)
    yield root.reading.remarks(DIALECT.name)


def _tasks(root: Spot) -> Iterator[Spot]:
    """Return the tasks of a file, which may be a list, have one at `tasks`, or be one itself."""
    if isinstance(root.value, dict) and "tasks" not in root.value:
        yield root
        return
    rows = root if isinstance(root.value, list) else root.at("tasks")
    yield from rows.entries()


def _case(spot: Spot) -> Json | None:
    """Read a task; None if nothing can be said to the agent."""
    if is_of_instructions(spot.value):
        spot.at("instruction").say(_FIRST, level="loss", checks=1, value="")
        return None
    task = spot.part(TauTask)
    if task is None:
        return {"name": "unread", "turns": [{"user": "unread"}]}
    said = _talk_of(spot, task)
    criteria, about = task.evaluation_criteria, task.description
    checks = list(checks_of(spot.at("evaluation_criteria"), criteria)) if criteria else []
    texts = (about.purpose, about.relevant_policies, about.notes)
    named = {
        "name": str(task.id)[:_NAME_CHARS],
        "description": "\n\n".join(filter(None, map(str.strip, texts))),
    }
    if said is None:
        played = _simulation(spot.at("user_scenario"), checks)
        return played and named | played
    history, user = said
    return named | {
        "history": history,
        "turns": [{"user": escape_braces(user), **({"assertions": checks} if checks else {})}],
    }


def _simulation(spot: Spot, checks: Sequence[Placed]) -> Json | None:
    """Read a user whom a model plays; None if no check by code would end the conversation."""
    goal = _text_of(spot.value)
    if not goal or all(check.part["type"] == "llm_judge" for check in checks):
        spot.say(_ENDLESS, level="loss", checks=1, value="")
        return None
    spot.say(_PLAYED, level="guess", value="")
    whole = {"scope": "conversation"}
    final = [
        Placed(check.part | ({} if check.part["type"] == "tool_called" else whole), check.spot)
        for check in checks
    ]
    return {
        "turns": [{"user": _OPENING, "assertions": []}],
        "simulated_user": {"goal": goal, "max_turns": _MAX_TURNS},
        "final_assertions": final,
    }


def _text_of(scenario: object) -> str:
    """Return all that a scenario says about its user, a line each."""
    if isinstance(scenario, dict):
        parts = ((key, _text_of(value)) for key, value in scenario.items())
        return "\n".join(
            text if key == "instructions" else f"{key.replace('_', ' ')}: {text}"
            for key, text in parts
            if text
        )
    return scenario.strip() if isinstance(scenario, str) else ""


def _talk_of(spot: Spot, task: TauTask) -> tuple[list[Json], str] | None:
    """Return earlier messages and what the user says; None if a model has to play the user."""
    messages, at = task.initial_state.message_history, spot.at("initial_state", "message_history")
    if messages and not is_chat(messages):
        at.say(_NOT_MESSAGES)
    elif said := _last_message(at, messages):
        _lose_scenario(spot, _MESSAGES)
        return said
    elif messages and task.ticket:
        at.say(_UNSENT, level="loss", value="")
    if not task.ticket.strip():
        return None
    _lose_scenario(spot, _TICKET)
    return [], task.ticket


def _last_message(spot: Spot, messages: Sequence[object]) -> tuple[list[Json], str] | None:
    """Return earlier messages and the last one, if it is the user's."""
    chat = read_chat([message for message in messages if isinstance(message, dict)])
    if chat is None or chat.answer is not None or not _ends_with_user(messages):
        return None
    for loss in chat.losses(spot.reading.around.agent):
        spot.say(loss, level="loss", value="")
    return chat.history_in_case, chat.user


def _ends_with_user(messages: Sequence[object]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, dict) and str(last.get("role")).strip().lower() == "user"


def _lose_scenario(spot: Spot, sent: str) -> None:
    if spot.at("user_scenario").value is not None:
        message = _PLAYED_ON.format(sent)
        spot.at("user_scenario").say(message, level="loss", value="")
