"""Reports of plug-ins: what packages offer by the entry point `evalwell.reports`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from evals_app.engine.basics.plugins import Plugin, PluginsFound, find_plugins
from evals_app.reports.words.kinds import KIND_NAMES, KINDS, KindName, ReportKind
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.words import near

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_SUFFIX = re.compile(r"(?:\.[a-z0-9-]{1,20}){1,3}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+(?:; ?charset=[a-z0-9-]+)?")
_OURS = {*KIND_NAMES, "comparison"}
_MAX_TEXT = 500  # characters of an error


class ReportPluginError(Exception):
    """The report of a plug-in cannot be made; the message is shown to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """A report that a package offers: its title, what its file is, and what writes it.

    `write` gets the results of one run, as `RunResults.to_json` returns them, and returns a text.

    >>> FileReport(title="Verdict", write=lambda results: results["run"]["verdict"]).suffix
    '.txt'
    """

    title: str
    write: Callable[[Mapping[str, Any]], str]
    suffix: str = ".txt"
    media_type: str = "text/plain; charset=utf-8"


@cache
def report_plugins() -> PluginsFound:
    """Return the reports that packages offer, loaded when the first is looked up."""
    return find_plugins("reports", problem_of=_problem)


def _problem(name: str, value: Any) -> str | None:
    """Explain why something cannot be a report; None if it can."""
    if _NAME.fullmatch(name) is None or name in _OURS:
        return "Its name is ours." if name in _OURS else "Names are like one_line."
    if not isinstance(value, FileReport):
        is_function = callable(value) and not isinstance(value, type)
        return (
            None if is_function else f"It is {value!r:.200}; expected a function or a FileReport."
        )
    if not (value.title and callable(value.write)):
        return "It needs a title, and a function to write it."
    if _SUFFIX.fullmatch(value.suffix) is None:
        return f"Its suffix is {value.suffix!r:.50}; expected one like .txt."
    if _MEDIA_TYPE.fullmatch(value.media_type) is None:
        return f"Its media type is {value.media_type!r:.50}; expected one like text/csv."
    return None


def _as_report(plugin: Plugin) -> FileReport:
    value = plugin.value
    if isinstance(value, FileReport):
        return value
    return FileReport(title=plugin.name.replace("_", " ").capitalize(), write=value)


def all_kinds() -> Mapping[str, ReportKind]:
    """Return the kinds of reports of a run by their names: ours, then those of plug-ins."""
    kinds = dict(KINDS)
    for name, plugin in report_plugins().plugins.items():
        item = _as_report(plugin)
        kinds[name] = ReportKind(item.title, item.suffix, item.media_type, has_conversations=True)
    return kinds


def own_kind(name: str) -> KindName | None:
    """Return the kind of this name, if it is one of ours."""
    return next((kind for kind in KIND_NAMES if kind == name), None)


def report_problem(name: str) -> str | None:
    """Explain why no plug-in offers a report of this name; None if one does."""
    found = report_plugins()
    if name in found.plugins:
        return None
    known = ", ".join(found.plugins) or "none"
    missing = f"No installed package offers the report {name!r}.{near(name, found.plugins)} Known: {known}."
    return found.problems.get(name, missing)


def plugin_report(name: str, results: Mapping[str, Any]) -> str:
    """Return the report of a plug-in about the results of one run.

    Raises:
        LookupError: no package offers it, or it cannot be loaded.
        ReportPluginError: it raised, or did not return a text.
    """
    if problem := report_problem(name):
        raise LookupError(problem)
    plugin = report_plugins().plugins[name]
    who = f"The report {name} of the package {plugin.package}"
    try:
        text = _as_report(plugin).write(results)
    except (Exception, SystemExit) as exc:
        said = cut_middle(str(exc), _MAX_TEXT).rstrip(".")
        raise ReportPluginError(f"{who} raised {type(exc).__name__}: {said}.") from exc
    if not isinstance(text, str):
        raise ReportPluginError(f"{who} returned {text!r:.100}; expected a text.")
    return text
