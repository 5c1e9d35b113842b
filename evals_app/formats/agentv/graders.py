"""What each assertion and grader of AgentV is here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evals_app.formats.agentv.shapes import EvalCheck, RubricEntry
from evals_app.formats.foreign.parts import (
    SAME_MEANING,
    LostCheckError,
    checks_of_grader,
    judge_check,
    same_as,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json

_JUDGES = {"llm-grader", "llm-judge", "llm-rubric", "rubric", "rubrics", "g-eval"}
_TEXTS = {f"{i}contains{which}" for i in ("", "i") for which in ("", "-any", "-all")}
_PATTERNS = {
    "starts-with": r"\A\s*(?:{})",
    "ends-with": r"(?:{})\s*\z",
    "equals": r"\A\s*(?:{})\s*\z",
}
_CODE = "It is code, which does not run on import. Express it with other checks, or use the check `code`."
_LOST = {
    **dict.fromkeys(("code", "code-grader", "code-judge", "script"), _CODE),
    "composite": "Write its parts as checks of their own.",
    "execution-metrics": "Set limits of the case: max_tool_calls, max_time_ms.",
    "field-accuracy": "Check each field of the JSON reply: json_path.",
    "include": "Write these assertions into the file.",
    "skill-trigger": "Check a tool call instead: tool_called.",
    "token-usage": "Set limits of the case: max_response_tokens.",
}
_UNKNOWN = "Express it with other checks."
# What a prompt of a judge is filled in with; a judge here sees the conversation itself.
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_SEEN = {
    **dict.fromkeys(("input", "input_text", "question", "input_messages"), "(the conversation)"),
    **dict.fromkeys(("output", "output_text", "answer", "candidate_answer"), "(the reply)"),
    **dict.fromkeys(("tool_calls", "file_changes", "output_messages"), "(the tool calls)"),
    **dict.fromkeys(
        ("expected_output", "expected_output_text", "reference_answer", "expected_messages"),
        "(the expected answer)",
    ),
}


@dataclass(frozen=True, slots=True)
class Graders:
    """The checks of a test: what it should achieve, and whether it expects an answer."""

    criteria: str
    expects: bool

    def implicit(self) -> list[Json]:
        """Return what is judged if nothing else is checked."""
        if self.criteria:
            return [judge_check(self.criteria)]
        return [judge_check(SAME_MEANING)] if self.expects else []

    def read(self, spot: Spot) -> Iterator[Json]:
        """Return the checks that an assertion is; report what is lost."""
        if isinstance(spot.value, str):
            yield judge_check(spot.value)
            return
        written = spot.value if isinstance(spot.value, dict) else {}
        if "include" in written:
            spot.lose(f"include is left out. {_LOST['include']}", checks=1)
            return
        check = spot.part(EvalCheck)
        if check is None:
            return
        kind = check.type.replace("_", "-")
        name, checks = check.name or check.metric, self._checks(spot, kind, check)
        yield from checks_of_grader(spot, check.type, name, check.weight, checks)

    def _checks(self, spot: Spot, kind: str, check: EvalCheck) -> Iterator[Json]:
        if kind in _JUDGES and not check.negate:
            yield from self._read_judge(spot, check)
        elif kind in _TEXTS:
            yield from _contains(kind, check)
        elif kind == "regex" or kind in _PATTERNS:
            yield _matches(kind, check)
        elif check.negate:
            raise LostCheckError("Its opposite cannot be checked here.")
        elif kind == "is-json":
            yield {"type": "json_valid"}
        elif kind == "latency" and check.threshold:
            yield {"type": "latency", "max_ms": round(check.threshold)}
        elif kind == "cost" and (check.budget or check.threshold):
            yield {"type": "cost", "max_usd": check.budget or check.threshold}
        elif kind == "tool-trajectory":
            yield from _tools(check)
        else:
            raise LostCheckError(_LOST.get(kind, _UNKNOWN))

    def _read_judge(self, spot: Spot, check: EvalCheck) -> Iterator[Json]:
        rows = check.rubrics or check.criteria or check.value
        if isinstance(rows, list):
            key = next(k for k in ("rubrics", "criteria", "value") if getattr(check, k))
            for entry in spot.at(key).entries():
                yield from read_criterion(entry)
        elif check.prompt is not None:
            yield judge_check(self._prompt(spot.at("prompt"), check.prompt))
        elif rows:
            yield judge_check(text_of(rows))
        elif implicit := self.implicit():
            yield from implicit
        else:
            raise LostCheckError("Nothing says what is judged. Write criteria.")

    def _prompt(self, spot: Spot, written: object) -> str:
        if not isinstance(written, str):
            raise LostCheckError(_CODE)
        path = written.removeprefix("file://")
        text: str | None = written
        if re.search(r"\.(?:[cm]?[jt]s|py|sh)$", path):
            raise LostCheckError(_CODE)
        if path.endswith((".md", ".txt")) and "\n" not in path:
            content = spot.reading.around.content(spot.document, path)
            text = content.decode(errors="replace") if content else None
        if not text:
            raise LostCheckError(f"Its prompt {path} is not in this import.")
        known = {**_SEEN, "criteria": self.criteria, "expected_outcome": self.criteria}
        return _VARIABLE.sub(lambda match: known.get(match[1], match[0]), text.strip())


def read_criterion(spot: Spot) -> Iterator[Json]:
    """Return the check that one entry of a rubric is: a sentence, or keys with an outcome."""
    if isinstance(spot.value, str):
        yield judge_check(spot.value)
    elif (entry := spot.part(RubricEntry)) is not None:
        text = entry.outcome
        if entry.operator == "contradiction":
            text = f"Nothing in the reply contradicts this; it may leave it out: {text}"
        yield {**judge_check(text), "weight": entry.weight}


def _values(check: EvalCheck) -> list[str]:
    values = check.value if isinstance(check.value, list) else [check.value]
    texts = [text_of(value) for value in values if isinstance(value, str | int | float)]
    if not texts or len(texts) < len(values):
        raise LostCheckError("It needs a text, or a list of texts, as its `value`.")
    return texts


def _contains(kind: str, check: EvalCheck) -> Iterator[Json]:
    texts, is_exact = _values(check), not kind.startswith("i")
    is_negative = check.negate
    if kind.endswith("-any") and len(texts) > 1 and not is_negative:
        yield _pattern("|".join(map(re.escape, texts)), check, is_exact=is_exact)
    elif kind.endswith("-all") and len(texts) > 1 and is_negative:
        raise LostCheckError("Its opposite cannot be checked here.")
    else:
        name = "not_contains" if is_negative else "contains"
        for text in texts:
            yield {"type": name, "value": text, "case_sensitive": is_exact}


def _matches(kind: str, check: EvalCheck) -> Json:
    if kind == "equals" and isinstance(check.value, dict | list) and not check.negate:
        return same_as(check.value)
    (text,) = _values(check)[:1]
    if kind == "equals" and not check.negate:
        return {**same_as(text), "strip_whitespace": True}
    if check.flags.strip("ims"):
        raise LostCheckError(f"The flags {check.flags!r} mean nothing here.")
    pattern = text if kind == "regex" else _PATTERNS[kind].format(re.escape(text))
    flags = "".join(sorted(set(check.flags) - {"i"}))
    pattern = f"(?{flags}){pattern}" if flags else pattern
    return _pattern(pattern, check, is_exact="i" not in check.flags)


def _pattern(pattern: str, check: EvalCheck, *, is_exact: bool) -> Json:
    kind = "not_matches" if check.negate else "matches"
    return {"type": kind, "value": pattern, "case_sensitive": is_exact}


def _tools(check: EvalCheck) -> Iterator[Json]:
    mode = check.mode.replace("-", "_")
    if mode == "any_order" and check.minimums:
        for tool, count in check.minimums.items():
            yield {"type": "tool_called", "value": tool, "min_count": max(1, count)}
        return
    if mode not in {"in_order", "exact", "any_order"} or not check.expected:
        raise LostCheckError("Check the calls: tool_called, tool_calls.")
    tools: list[Json] = []
    for entry in check.expected:
        if not isinstance(entry, dict) or not isinstance(entry.get("tool"), str):
            raise LostCheckError("Each expected call needs the name of a `tool`.")
        args = entry.get("args")
        tools.append({"name": entry["tool"], "args": args if isinstance(args, dict) else {}})
    order = {"ordered": mode != "any_order", "exact": mode == "exact"}
    yield {"type": "tool_calls", "tools": tools, **order}
