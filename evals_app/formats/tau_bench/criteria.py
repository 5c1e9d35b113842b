"""The criteria of a task as checks: those that its `reward_basis` names decide, as they do there."""

from collections.abc import Iterator

from evals_app.formats.foreign.building import Placed
from evals_app.formats.foreign.calls import say_matchers
from evals_app.formats.foreign.parts import judge_check
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.problems import Json
from evals_app.formats.tables.wanted import ANY_NUMBER, WHOLE_WORDS, is_number, is_short
from evals_app.formats.tau_bench.shapes import TauAction, TauCriteria

_TO_LISTS = {
    "ACTION": "actions",
    "COMMUNICATE": "communicate_info",
    "NL_ASSERTION": "nl_assertions",
    "ENV_ASSERTION": "env_assertions",
}
_DATABASE = "DB"
_UNDECIDED = "`reward_basis` does not name {}, so this decides nothing there. Left out."
_END_STATE = (
    "The database at the end is not compared here. Use test data, and check what changes in it with "
    "world_changes. Left out."
)
_ASSERTED = (
    "Functions of tau-bench cannot run here. Use test data, and check what changes in it with "
    "world_changes. Left out."
)
_OF_USER = "The user calls this tool there. Only agents have tools here. Left out."
_AS_TEXT = "This text is JSON. There it is compared as data, here letter by letter."
_UNKNOWN = "What {} means is not known here. Left out."


def checks_of(spot: Spot, criteria: TauCriteria) -> Iterator[Placed]:
    """Return the checks of a task; report what is lost."""
    basis = criteria.reward_basis
    for kind, key in _TO_LISTS.items():
        for entry in spot.at(key).entries():
            decides = kind in basis
            if kind == "ENV_ASSERTION" and decides:
                entry.lose(_ASSERTED, checks=1)
            elif not decides:
                entry.say(_UNDECIDED.format(kind), level="loss", value="")
            elif (check := _check(kind, entry)) is not None:
                yield Placed(check, entry)
    named = spot.at("reward_basis") if "reward_basis" in spot.value else spot
    if _DATABASE in basis:
        named.say(_END_STATE, level="loss", checks=1, value="")
    for name in basis:
        if name not in {*_TO_LISTS, _DATABASE}:
            named.say(_UNKNOWN.format(f"`{name}`"), level="loss", checks=1, value="")


def _check(kind: str, spot: Spot) -> Json | None:
    if kind == "ACTION":
        return _call(spot)
    if not spot.value.strip():
        return None
    return judge_check(spot.value) if kind == "NL_ASSERTION" else _check_of_text(spot.value)


def _check_of_text(text: str) -> Json:
    """Return the check that a reply says a text; a number may have commas for thousands."""
    if is_number(text):
        return {**ANY_NUMBER, "value": text, "decimal": "point"}
    return {**(WHOLE_WORDS if is_short(text) else {"type": "contains"}), "value": text}


def _call(spot: Spot) -> Json | None:
    """Return the check that the agent made a call; any of its calls may be the one."""
    action = spot.part(TauAction)
    if action is None:
        return None
    if action.requestor == "user":
        spot.lose(_OF_USER, checks=1)
        return None
    args, at = action.arguments, spot.at("arguments")
    compared = list(args) if action.compare_args is None else action.compare_args
    wanted = {key: args.get(key, {"present": False}) for key in compared}
    say_matchers({key: value for key, value in wanted.items() if key in args}, at)
    for key, value in wanted.items():
        if isinstance(value, str) and value.strip().startswith(("{", "[")):
            at.at(key).lose(_AS_TEXT)
    check: Json = {"type": "tool_called", "value": action.name}
    if action.compare_args is None:
        return {**check, "args": wanted, "args_match": "exact"}
    return check | ({"args": wanted} if wanted else {})
