"""What each grader of waza is here."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evals_app.formats.foreign.parts import LostCheckError, checks_of_grader, judge_check
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json
from evals_app.formats.waza.shapes import WazaGrader

_CODE = "It is code, which does not run on import. Express it with other checks, or use the check `code`."
_FILES = "Agents have no workspace here, so there are no files to check."
_SKILLS = "Whether a skill is used is not checked here. Check a tool call instead: tool_called."
_LOST = {
    **dict.fromkeys(("code", "program"), _CODE),
    **dict.fromkeys(("diff", "file"), _FILES),
    **dict.fromkeys(("skill_invocation", "trigger"), _SKILLS),
}
_UNKNOWN = "Express it with other checks."
# Keys with lists of texts or patterns, what they are here, and whether case matters.
_TEXTS: Mapping[str, tuple[str, bool]] = {
    "contains": ("contains", False),
    "contains_cs": ("contains", True),
    "must_contain": ("contains", False),
    "must_match": ("matches", True),
    "must_not_contain": ("not_contains", False),
    "must_not_match": ("not_matches", True),
    "not_contains": ("not_contains", False),
    "not_contains_cs": ("not_contains", True),
    "regex_match": ("matches", True),
    "regex_not_match": ("not_matches", True),
}
_TOOLS = {"required_tools": "tool_called", "forbidden_tools": "tool_not_called"}
_CALLS = {"expect_tools": "tool_called", "reject_tools": "tool_not_called"}
_MODES = {
    "any_order_match": {},
    "exact_match": {"ordered": True, "exact": True},
    "in_order_match": {"ordered": True},
}


def read_grader(spot: Spot) -> Iterator[Json]:
    """Return the checks that a grader is; report what is lost."""
    if isinstance(spot.value, dict) and "ref" in spot.value:
        spot.lose(
            "Graders from elsewhere are not fetched on import. Write it into the file.", checks=1
        )
        return
    grader = spot.part(WazaGrader)
    if grader is None:
        return
    checks = _checks(spot.at("config"), grader)
    yield from checks_of_grader(spot, grader.type, grader.name, grader.weight, checks)


def _checks(spot: Spot, grader: WazaGrader) -> Iterator[Json]:
    config = grader.config
    match grader.type:
        case "text" | "regex" | "keyword":
            yield from _each(spot, config, _of_texts)
        case "behavior" | "tool_calls":
            yield from read_behavior(spot, config)
        case "tool_constraint":
            yield from _each(spot, config, _of_calls)
        case "prompt" if config.get("mode", "independent") == "independent":
            prompt = text_of(config.get("prompt")) or grader.rubric
            if not prompt.strip():
                raise LostCheckError("Nothing says what is judged. Write a `prompt`.")
            yield judge_check(prompt)
        case "json_schema":
            yield {"type": "json_schema", "schema": _schema(spot, config)}
        case "action_sequence":
            mode, tools = (
                _MODES.get(text_of(config.get("matching_mode"))),
                config.get("expected_actions"),
            )
            if mode is None or not tools:
                raise LostCheckError("Write tool_calls with the tools in their order.")
            yield {"type": "tool_calls", "tools": tools, **mode}
        case _:
            raise LostCheckError(_LOST.get(grader.type, _UNKNOWN))


def read_behavior(spot: Spot, config: Mapping[str, object]) -> Iterator[Json]:
    """Return the checks that rules of behavior are."""
    yield from _each(spot, config, _of_behavior)


def _each(spot: Spot, config: Mapping[str, object], read: Any) -> Iterator[Json]:
    """Read each key of a configuration by itself; report those that have no equal."""
    for key, value in config.items():
        try:
            yield from read(key, value)
        except LostCheckError as lost:
            spot.at(key).lose(str(lost), checks=1)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _of_texts(key: str, value: object) -> Iterator[Json]:
    if key not in _TEXTS:
        raise LostCheckError(f"{key} is not read here. {_UNKNOWN}")
    kind, is_exact = _TEXTS[key]
    for text in _list(value):
        yield {"type": kind, "value": text_of(text), "case_sensitive": is_exact}


def _of_behavior(key: str, value: object) -> Iterator[Json]:
    if key in _TOOLS:
        for tool in _list(value):
            yield {"type": _TOOLS[key], "value": text_of(tool)}
    elif key in {"max_duration_ms", "max_response_time_ms"}:
        yield {"type": "latency", "max_ms": value}
    else:
        raise LostCheckError(f"{key} is not read here. Set limits of the case: max_tool_calls.")


def _of_calls(key: str, value: object) -> Iterator[Json]:
    for call in _list(value):
        if key not in _CALLS or not isinstance(call, dict) or not call.get("tool"):
            raise LostCheckError("Write tool_called or tool_not_called with the name of the tool.")
        args = {
            name.removesuffix("_pattern"): {"regex": pattern}
            for name, pattern in call.items()
            if name.endswith("_pattern")
        }
        yield {"type": _CALLS[key], "value": text_of(call["tool"]), "args": args}


def _schema(spot: Spot, config: Mapping[str, object]) -> object:
    if isinstance(config.get("schema"), dict):
        return config["schema"]
    path = text_of(config.get("schema_file"))
    content = spot.reading.around.content(spot.document, path) if path else None
    try:
        return json.loads(content or b"")
    except (ValueError, RecursionError):
        raise LostCheckError(f"There is no schema in the file {path}.") from None
