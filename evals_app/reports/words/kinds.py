"""The kinds of reports of a run, by the word that commands and REST use."""

from dataclasses import dataclass
from typing import Literal, get_args

KindName = Literal[
    "decision", "html", "markdown", "folder", "xlsx", "csv", "json", "junit", "github", "gitlab"
]
# Of the table of several runs: what its file ends with.
ComparisonKind = Literal["html", "md", "xlsx", "json"]
COMPARISON_KINDS: tuple[ComparisonKind, ...] = get_args(ComparisonKind)
KIND_NAMES: tuple[KindName, ...] = get_args(KindName)


@dataclass(frozen=True, slots=True)
class ReportKind:
    """What a report is called, and what its file is."""

    title: str
    suffix: str
    media_type: str
    has_conversations: bool = False  # so reading it takes the right to read executions
    is_offered: bool = True  # on the page of a run


KINDS: dict[str, ReportKind] = {
    "decision": ReportKind(
        "The decision, to send or print (HTML)", ".decision.html", "text/html; charset=utf-8"
    ),
    "html": ReportKind(
        "One page to send by mail (HTML)",
        ".html",
        "text/html; charset=utf-8",
        has_conversations=True,
    ),
    "markdown": ReportKind(
        "Text for a chat or a pull request (Markdown)", ".md", "text/markdown; charset=utf-8"
    ),
    "folder": ReportKind(
        "One text file for each case (zip)", ".zip", "application/zip", has_conversations=True
    ),
    "xlsx": ReportKind(
        "Table for Excel (XLSX)",
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    "csv": ReportKind("Table for other programs (CSV)", ".csv", "text/csv; charset=utf-8"),
    "json": ReportKind(
        "Everything, for programs (JSON)", ".json", "application/json", has_conversations=True
    ),
    "junit": ReportKind("Test results for build servers (JUnit XML)", ".xml", "application/xml"),
    "github": ReportKind(
        "Summary of a GitHub Actions job (Markdown)",
        ".github.md",
        "text/markdown; charset=utf-8",
        is_offered=False,
    ),
    "gitlab": ReportKind(
        "Code Quality report for GitLab (JSON)",
        ".gl-code-quality.json",
        "application/json",
        is_offered=False,
    ),
}

COMPARISON_MEDIA_TYPES: dict[ComparisonKind, str] = {
    "html": KINDS["html"].media_type,
    "md": KINDS["markdown"].media_type,
    "xlsx": KINDS["xlsx"].media_type,
    "json": KINDS["json"].media_type,
}
