"""Find out the kind and dialect of a file from its name and content."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from evals_app.formats.dialect import rows_under
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.foreign.draft import KINDS, Kind
from evals_app.formats.foreign.sidecar import is_sidecar, sidecars_among
from evals_app.formats.foreign.words import record_places
from evals_app.formats.reader_plugins import finds_plugin_file
from evals_app.formats.tables import SPREADSHEETS

# What to send instead of a table that is not read here.
_INSTEAD = {
    ".xls": (
        "This is a workbook in the old format. Open it in Excel and save it as “Excel Workbook "
        "(.xlsx)”."
    ),
    ".xlsm": "This workbook has macros. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".xlsb": "This is a binary workbook. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".ods": "This is a workbook of LibreOffice. Open it there and save it as “Excel 2007-365 (.xlsx)”.",
    ".numbers": "This is a workbook of Numbers. Open it there, choose File > Export To > Excel.",
}
_NATIVE, _STRUERE = DIALECTS["native"], DIALECTS["struere"]
_TABLES = (*SPREADSHEETS, ".jsonl", ".parquet")
# Whole names that other systems give their files.
_NAMED = {
    file: dialect for dialect in DIALECTS.values() for file in dialect.files if "*" not in file
}


def _expectation() -> str:
    *first, last = (
        f"{dialect.title} ({', '.join(file for file in dialect.files if not file.endswith('.yml'))})"
        for dialect in DIALECTS.values()
        if dialect.page.startswith("coming-from")
    )
    return (
        "Expected *.suite.yaml, *.agent.yaml, *.fixture.yaml or *.provider.yaml, a table (*.csv, "
        f"*.tsv, *.xlsx, *.jsonl, *.parquet), or a project of {', '.join(first)} or {last}"
    )


EXPECTED = _expectation()


def is_eval_file(path: str) -> bool:
    """Whether a file found in a folder is one to import, by its name."""
    if is_sidecar(path):
        return False
    return any(dialect.finds(path) for dialect in DIALECTS.values()) or finds_plugin_file(path)


def eval_files(paths: Iterable[str]) -> list[str]:
    """Return the files to import among those of a folder: if none is an eval file, its tables.

    What is written beside them comes with them.
    """
    files = list(paths)
    found = list(filter(is_eval_file, files)) or list(filter(is_table, files))
    return found + sidecars_among(files, found)


def has_own_suffix(path: str) -> bool:
    """Whether the name of a file says that it is ours or Struere's, and what it describes."""
    return _NATIVE.finds(path) or _STRUERE.finds(path)


def has_known_name(path: str) -> bool:
    """Whether the whole name of a file says that another system wrote it, whose files we read."""
    return PurePosixPath(path).name in _NAMED


def is_readable(path: str) -> bool:
    """Whether a file can be one to import at all."""
    is_data = path.endswith((".yaml", ".yml", ".json"))
    return is_data or is_table(path) or PurePosixPath(path).name in _NAMED


def is_json(path: str) -> bool:
    """Whether a file is JSON alone; that of promptfoo is read as its YAML is."""
    return path.endswith(".json") and PurePosixPath(path).name not in _NAMED


def is_table(path: str) -> bool:
    """Whether a file is a table, by its name: a spreadsheet, or rows of JSON."""
    return path.lower().endswith(_TABLES)


def instead_of(path: str) -> str:
    """Return what to send instead of an unreadable kind of table; empty if it is not a table."""
    return _INSTEAD.get(PurePosixPath(path.lower()).suffix, "")


def foreign_dialect(path: str, data: object) -> str | None:
    """Return the dialect of a file that is not ours by its data, then by its name; None if it is ours."""
    if _NATIVE.finds(path):
        return None
    for dialect in DIALECTS.values():
        if dialect.is_certain(path, data):
            return dialect.name
    if has_own_suffix(path):
        return None
    if is_table(path):
        return "table"
    named, kind = _NAMED.get(PurePosixPath(path).name), kind_of(path, data)
    keys = data.keys() if isinstance(data, dict) else set()
    # Our own files under a foreign name are recognised by keys that only they have.
    if (not named or keys & {"slug", "driver"}) and (
        keys & {"suite", "driver", "rules", "entities"} or kind == "suite"
    ):
        return None
    for dialect in DIALECTS.values():
        if dialect.is_likely(path, data):
            return dialect.name
    if named:
        return named.name
    return "table" if kind is None and record_places(data) else None


def kind_of(path: str, data: object) -> Kind | None:
    """Return what a file describes: from its name, or from its keys."""
    if has_own_suffix(path):
        suffix = path.split(".")[-2]
        return next((kind for kind in KINDS if kind == suffix), "suite")  # eval is Struere's word
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


def _has_our_cases(data: Mapping[str, object]) -> bool:
    """Whether cases are ours or Struere's: other tools have cases too, but not with turns."""
    is_named = bool({"slug", "agent"} & data.keys())
    return "cases" in data and (
        is_named or not data["cases"] or any("turns" in row for row in rows_under(data, "cases"))
    )
