"""Tell by name and content what a file is: its kind, and its dialect."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from evals_app.formats.kinds import Dialect, Kind
from evals_app.formats.words import rows_place

_KINDS: dict[str, Kind] = {
    ".suite": "suite",
    ".eval": "suite",
    ".agent": "agent",
    ".fixture": "fixture",
    ".provider": "provider",
}
EVAL_SUFFIXES = tuple(f"{kind}{ending}" for kind in _KINDS for ending in (".yaml", ".yml"))

EXPECTED = (
    "Expected *.suite.yaml, *.agent.yaml, *.fixture.yaml or *.provider.yaml, a table (*.csv, "
    "*.xlsx, *.jsonl), or a project of Struere (evals/*.eval.yaml, fixtures/*.fixture.yaml), Agentura "
    "(agentura.yaml), Lobu (agents/*/evals/*.yaml), HoloDeck (agent.yaml), promptfoo "
    "(promptfooconfig.yaml) or OpenAI Evals (eval_*.json, evalrun_*.json, registry/evals/*.yaml)"
)

_SPREADSHEETS = (".csv", ".xlsx")
_TABLES = (*_SPREADSHEETS, ".jsonl")
# Names by which files of other systems are found in a folder.
_FOREIGN_NAMES: dict[str, Dialect] = {
    "agentura.yaml": "agentura",
    "agentura.yml": "agentura",
    "lobu.toml": "lobu",
    "agent.yaml": "holodeck",
    "agent.yml": "holodeck",
    "promptfooconfig.yaml": "promptfoo",
    "promptfooconfig.yml": "promptfoo",
    "promptfooconfig.json": "promptfoo",
}
_LOBU_EVAL = re.compile(r"(?:^|/)agents/([^/]+)/evals/[^/]+\.ya?ml$")
# As the API names its objects: eval_68a.json, evalrun_68b.json, evalrun_68b-items.json.
_OPENAI_OBJECT = re.compile(r"(?:^|/)eval(?:run)?_[^/]*\.json$")
_OPENAI_REGISTRY = re.compile(r"(?:^|/)registry/evals/[^/]+\.ya?ml$")
_OPENAI_KEYS = {"testing_criteria", "data_source_config", "data_source", "datasource_item"}
_AGENTURA_TYPES = ("golden_dataset", "llm_judge", "performance", "tool_use")

_CAMEL = {"judgeModel", "judgePrompt", "judgeContext", "finalAssertions", "contextParams"}
_NATIVE_SUITE = {
    *("fixtures", "trials", "min_pass_rate", "pass_rule", "pass_threshold", "run_rule"),
    *("score_scale", "concurrency", "judge_model", "judge_prompt", "judge_context", "assertions"),
    *("gates", "rubric", "rubric_weight"),
}
_NATIVE_CASE = {
    *("context_params", "clock", "limits", "turn_timeout_s", "streaming", "trials", "history"),
    "final_assertions",
}
_NATIVE_TURN = {"expected", "inherit"}
_NATIVE_FIXTURE = {"chunks", "entity_types", "description"}


def is_eval_file(path: str) -> bool:
    """Whether a file found in a folder is one to import, by its name.

    A table among other files may be anything, so there it needs `.suite` in its name.
    """
    name = PurePosixPath(path).name
    tables = tuple(f".suite{ending}" for ending in _TABLES)
    return (
        path.endswith((*EVAL_SUFFIXES, *tables))
        or name in _FOREIGN_NAMES
        or any(each.search(path) for each in (_LOBU_EVAL, _OPENAI_OBJECT, _OPENAI_REGISTRY))
    )


def eval_files(paths: Iterable[str]) -> list[str]:
    """Return the files to import among those of a folder: if none is an eval file, its tables."""
    found = list(paths)
    return list(filter(is_eval_file, found)) or list(filter(is_table, found))


def lobu_agent(path: str) -> str | None:
    """Give the id of the agent that an eval file of Lobu tests by its folder."""
    found = _LOBU_EVAL.search(path)
    return found[1] if found else None


def is_readable(path: str) -> bool:
    """Whether a file can be one to import at all."""
    name = PurePosixPath(path).name
    is_data = path.endswith((".yaml", ".yml", ".json"))
    return is_data or is_table(path) or name in _FOREIGN_NAMES


def is_json(path: str) -> bool:
    """Whether a file is JSON alone; those of promptfoo are read as its YAML is."""
    return path.endswith(".json") and PurePosixPath(path).name not in _FOREIGN_NAMES


def is_table(path: str) -> bool:
    """Whether a file is a table, by its name: a spreadsheet, or rows of JSON."""
    return path.lower().endswith(_TABLES)


def is_spreadsheet(path: str) -> bool:
    """Whether a file is a table with cells, by its name."""
    return path.lower().endswith(_SPREADSHEETS)


def foreign_dialect(path: str, data: Any) -> Dialect | None:  # noqa: ANN401 - JSON
    """Tell the dialect of another system's file by its keys, then by its name; None: it is none."""
    if is_spreadsheet(path):
        return "table"
    if path.endswith(EVAL_SUFFIXES):
        return None
    if is_openai(data):
        return "openai-evals"
    if is_table(path):
        return "table"
    name = PurePosixPath(path).name
    keys = set(_keys(data))
    if name == "lobu.toml":
        return "lobu"
    # Under the name of a foreign file ours are known by what only they have.
    is_ours = name not in _FOREIGN_NAMES or keys & {"slug", "driver"}
    if is_ours and (
        keys & {"suite", "driver", "rules", "entities"} or kind_of(path, data) == "suite"
    ):
        return None
    if any(row.get("type") in _AGENTURA_TYPES for row in _rows(data, "evals")):
        return "agentura"
    if keys & {"test_cases", "test_cases_file", "instructions"} or (
        "metrics" in _keys(data.get("evaluations") if "evaluations" in keys else None)
    ):
        return "holodeck"
    if keys & {"prompts", "tests", "scenarios", "defaultTest"}:
        return "promptfoo"
    if "turns" in keys or _LOBU_EVAL.search(path):
        return "lobu"
    if name not in _FOREIGN_NAMES and kind_of(path, data) is None and rows_place(data) is not None:
        return "table"
    return _FOREIGN_NAMES.get(name)


def is_openai(data: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether data is of OpenAI Evals: objects of its API, samples, or a file of its registry."""
    if isinstance(data, dict):
        entries = [each for each in data.values() if isinstance(each, dict)]
        if any(isinstance(each.get("class"), str) and "args" in each for each in entries):
            return True
        inner = data.get("data", [data.get(key) for key in ("eval", "run")])
        if data.get("object") == "list" and inner == []:
            return True  # a page without anything on it
        return bool(_OPENAI_KEYS & data.keys()) or (isinstance(inner, list) and is_openai(inner))
    first = (
        next((each for each in data if each is not None), None) if isinstance(data, list) else None
    )
    if not isinstance(first, dict):
        return False
    is_item = isinstance(first.get("item"), dict)
    return is_item or {"input", "ideal"} <= first.keys() or bool(_OPENAI_KEYS & first.keys())


def kind_of(path: str, data: Any) -> Kind | None:  # noqa: ANN401 - JSON
    """Tell what a file describes: by its name, else by its keys."""
    for suffix in EVAL_SUFFIXES:
        if path.endswith(suffix):
            return _KINDS[suffix.rpartition(".")[0]]
    if not isinstance(data, dict):
        return None
    if "suite" in data or _has_our_cases(data):
        return "suite"
    if "entities" in data or "entity_types" in data:
        return "fixture"
    if "provider" in data and "kind" in data:
        return "provider"
    if "agent" in data and {"driver", "rules", "model", "system_prompt"} & data.keys():
        return "agent"
    return None


def _has_our_cases(data: dict[str, Any]) -> bool:
    """Whether cases are ours or Struere's: other tools have cases too, but not with turns."""
    if "cases" not in data:
        return False
    is_named = bool({"slug", "agent"} & data.keys())
    return is_named or not data["cases"] or any("turns" in row for row in _rows(data, "cases"))


def suite_dialect(path: str, data: Any) -> Dialect:  # noqa: ANN401 - JSON
    """Tell the dialect of a suite: by its name, else by keys that only one of them has."""
    if path.endswith((".eval.yaml", ".eval.yml")):
        return "struere"
    if path.endswith((".suite.yaml", ".suite.yml")):
        return "native"
    keys = set(_keys(data))
    if keys & _CAMEL:
        return "struere"
    cases = _rows(data, "cases")
    turns = [turn for case in cases for turn in _rows(case, "turns")]
    is_native = (
        set(_keys(data)) & _NATIVE_SUITE
        or any(set(case) & _NATIVE_CASE for case in cases)
        or any(set(turn) & _NATIVE_TURN for turn in turns)
    )
    has_camel = any(set(case) & _CAMEL for case in cases)
    return "native" if is_native and not has_camel else "struere"


def is_native_fixture(data: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a fixture has keys that Struere does not know; without them it may be of either."""
    return bool(set(_keys(data)) & _NATIVE_FIXTURE)


def project_folder(path: str, *, part: str) -> tuple[str, bool]:
    """Give the folder that holds `evals/` or `fixtures/`, and whether the path has such a part.

    Without it the folder of the file itself stands for the project.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    for position in range(len(parts) - 2, -1, -1):
        if parts[position] == part:
            return "/".join(parts[:position]), True
    return "/".join(parts[:-1]), False


def _keys(data: Any) -> list[str]:  # noqa: ANN401 - JSON
    return list(data) if isinstance(data, dict) else []


def _rows(data: Any, key: str) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    rows = data.get(key) if isinstance(data, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
