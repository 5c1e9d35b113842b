"""Tests in tables: a row says in its columns what a test says in keys."""

import re
from collections.abc import Mapping

from evals_app.formats.promptfoo.checks import TYPES
from evals_app.formats.reading.problems import Json

_SHORT = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_NAMES = sorted((*TYPES, *_SHORT), key=len, reverse=True)
# `type(threshold):value`
_COMPACT = re.compile(
    rf"(?P<inverse>not-)?(?P<type>{'|'.join(map(re.escape, _NAMES))})"
    r"(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?",
    re.DOTALL,
)
# What has to be reached where a cell does not say it.
_USUAL_THRESHOLDS = {
    "similar": 0.8,
    **dict.fromkeys(("answer-relevance", "context-faithfulness", "context-recall"), 0.75),
    **dict.fromkeys(("context-relevance", "rouge-n"), 0.75),
}
_EXPECTED = re.compile(r"__expected(\d*)")
_CONFIG = re.compile(r"__config:__expected(\d*):(\w+)")
_METADATA = re.compile(r"__metadata:([^\[\]]+)(\[\])?")
_COMMA = re.compile(r"(?<!\\),")


def as_test(row: Mapping[str, str]) -> Json:
    """Translate a row into a test; all unknown columns are variables."""
    test: Json = {"vars": {}, "options": {}, "metadata": {}}
    assertions: dict[str, dict[str, object]] = {}
    settings: list[tuple[str, str, str]] = []
    for column, cell in row.items():
        if match := _EXPECTED.fullmatch(column):
            if cell.strip():
                assertions[match[1]] = as_assertion(cell.strip())
        elif match := _CONFIG.fullmatch(column):
            settings += [(match[1], match[2], cell)] if cell.strip() else []
        elif match := _METADATA.fullmatch(column):
            test["metadata"][match[1]] = _split_list(cell) if match[2] else cell
        elif column in ("__prefix", "__suffix"):
            test["options"][column.removeprefix("__")] = cell
        elif column.startswith("__"):
            if cell.strip():
                test[column.removeprefix("__")] = _number(cell)
        else:
            test["vars"][column] = cell
    for which, key, cell in settings:
        for number, assertion in assertions.items():
            if which in ("", number):
                assertion[key] = _number(cell)
    metric = test.pop("metric", None)
    shared = {} if metric is None else {"metric": str(metric)}
    test["assert"] = [{**assertion, **shared} for assertion in assertions.values()]
    return test


def as_assertion(cell: str) -> dict[str, object]:
    """Read an assertion that is written in one text: similar(0.8):Hello there."""
    if cell.startswith("file://") and re.search(r"\.(?:py|[cm]?[jt]s)(?::\w+)?$", cell):
        return {"type": "python" if ".py" in cell else "javascript", "value": cell}
    match = _COMPACT.fullmatch(cell)
    if match is None:
        return {"type": "equals", "value": cell}
    kind = _SHORT.get(match["type"], match["type"])
    assertion: dict[str, object] = {"type": f"{match['inverse'] or ''}{kind}"}
    if match["value"] is not None:
        assertion["value"] = match["value"].strip()
    threshold = match["threshold"] or _USUAL_THRESHOLDS.get(kind)
    return assertion if threshold is None else {**assertion, "threshold": float(threshold)}


def _split_list(cell: str) -> list[str]:
    return [item.strip().replace("\\,", ",") for item in _COMMA.split(cell) if item.strip()]


def _number(cell: str) -> object:
    try:
        return float(cell)
    except ValueError:
        return cell
