"""Tools for what people write: list it, read it, check it, write it, look up how."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from pydantic import Field

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Trial
from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.trying import try_check as grade_pasted
from evals_app.formats.importing import SourceFile
from evals_app.formats.native import write_native
from evals_app.library.changes.import_report import ImportReport, ObjectChange
from evals_app.library.exporting.downloads import download_fixture, download_suite
from evals_app.library.importing.file_import import (
    ChangedSinceError,
    edited_words,
    import_files,
    unchecked_words,
)
from evals_app.library.importing.rights import Rights
from evals_app.mcp.answers import (
    AgentData,
    AgentsData,
    ChangeOfFile,
    FilesData,
    FixtureData,
    FixturesData,
    SuiteData,
    SuitesData,
    TriedCheckData,
)
from evals_app.mcp.guide import page, pages
from evals_app.mcp.tool import Caller, PartOfAnswer, Told, lines_of
from evals_app.models import Agent, Execution, Run, Suite, Transcript
from evals_app.reports.answers.losses import checks_not_read
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.reference.checks import COMMON, FAMILIES, option_table, reference_of
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.shares import share_of_cases
from evals_app.requests.bodies import ImportedFile, RunId, read_body
from evals_app.requests.problems import RefusedError, refused_at, sound, unknown
from evals_app.runs.reading.suite_verdict import standings, with_last_runs
from fixtures_app.ground.words import near
from fixtures_app.models import Fixture

M = TypeVar("M", bound=Model)

MAX_LISTED = 500
_DIFFERENCES = 20
_MAY_TRY = [
    f"evals_app.{action}_{row}" for row in ("case", "suite") for action in ("add", "change")
]


class Search(PartOfAnswer):
    """What to list."""

    text: str = Field(
        default="", max_length=200, description="Only those whose slug or name contains this."
    )


class OneSlug(PartOfAnswer):
    """What to read."""

    slug: Slug


class CheckTypes(PartOfAnswer):
    """Which check types to list."""

    text: str = Field(
        default="", max_length=200, description="Only types whose name or purpose contains this."
    )


class OneCheckType(PartOfAnswer):
    """Which check type to describe."""

    type: str = Field(min_length=1, max_length=200)


class ReadGuide(PartOfAnswer):
    """Which page to read."""

    page: str = Field(
        default="", max_length=200, description="Name of a page; leave it out to list all pages."
    )


class Files(PartOfAnswer):
    """Files to check."""

    files: list[ImportedFile] = Field(
        min_length=1,
        max_length=1000,
        description="Files that belong together, each with its path in your project, such as"
        " evals/refunds.suite.yaml, and its whole content.",
    )
    agent: Slug | None = Field(
        default=None, description="The agent to test, for files of other tools."
    )


class FilesToWrite(Files):
    """Files to write."""

    version: str = Field(
        default="",
        max_length=64,
        description="The version from check_files: nothing is written if someone has changed"
        " something since.",
    )
    replace: bool = Field(
        default=False,
        description="Replace even what someone edited on the site since its last import.",
    )
    accept_no_checks: bool = Field(
        default=False, description="Write suites in which no case checks anything, too."
    )


class OneCheck(Spec):
    """A check to try."""

    check: dict[str, object] = Field(
        description="The check as in a file: its type, its options and the common keys."
    )
    reply: str | None = Field(
        default=None, description="The reply to grade. Default: the reply in `execution`."
    )
    expected: str | None = Field(default=None, description="The expected answer of the turn.")
    execution: RunId | None = Field(
        default=None,
        description="Number of a conversation that the check sees, with its tool calls.",
    )
    turn: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="The turn of the conversation. Default: the last one.",
    )


class _Written(Spec):
    """Lets the usual validation read a check."""

    check: AssertionSpec


def list_suites(caller: Caller, given: Search) -> Told:
    """List current suites, with their standing for those who may see runs."""
    rows = Suite.objects.current().select_related("agent")
    if not caller.user.has_perm("evals_app.view_run"):
        suites = _search(rows, given.text)
        lines, runs = [_suite_line(suite) for suite in suites], [None for _ in suites]
    else:
        suites = _search(with_last_runs(rows), given.text)
        runs = [standing.verdict_run for standing in standings(suites)]
        lines = [
            f"{_suite_line(suite)}: {_standing(run)}"
            for suite, run in zip(suites, runs, strict=True)
        ]
    data = [
        SuiteData.of_object(
            suite,
            agent=suite.agent.slug,
            last_run=run and run.pk,
            verdict=run and run.verdict,
        )
        for suite, run in zip(suites[:MAX_LISTED], runs, strict=False)
    ]
    return Told(_list_names(lines, "suite"), SuitesData.of(suites=data))


def _suite_line(suite: Suite) -> str:
    tags = f", tags {', '.join(suite.tags)}" if suite.tags else ""
    return f"- {suite.slug} “{suite.name}”, agent {suite.agent.slug}{tags}"


def _standing(run: Run | None) -> str:
    if run is None:
        return "never run as a whole"
    return f"run {run.pk} {run.verdict}, cases passed: {share_of_cases(vars(run))}"


def list_agents(_caller: Caller, given: Search) -> Told:
    """List agents."""
    agents = _search(Agent.objects.all(), given.text)
    lines = [
        f"- {agent.slug} “{agent.name}”, driver {agent.driver}"
        + (f", model {agent.model}" if agent.model else "")
        for agent in agents
    ]
    data = [AgentData.of_object(agent, model=agent.model or None) for agent in agents[:MAX_LISTED]]
    return Told(_list_names(lines, "agent"), AgentsData.of(agents=data))


def list_fixtures(_caller: Caller, given: Search) -> Told:
    """List fixtures."""
    fixtures = _search(Fixture.objects.all(), given.text)
    lines = [
        f"- {fixture.slug} “{fixture.name}”" + _about(fixture.description) for fixture in fixtures
    ]
    data = [FixtureData.of_object(fixture) for fixture in fixtures[:MAX_LISTED]]
    return Told(_list_names(lines, "test data"), FixturesData.of(fixtures=data))


def _about(description: str) -> str:
    first = description.strip().partition("\n")[0]
    return f": {first[:200]}" if first else ""


def _search(rows: QuerySet[M], text: str) -> list[M]:
    wanted = Q(slug__icontains=text) | Q(name__icontains=text) if text else Q()
    return list(rows.filter(wanted).order_by("slug")[: MAX_LISTED + 1])


def _list_names(rows: Sequence[str], noun: str) -> str:
    more = [f"Only the first {MAX_LISTED} are shown. To find others, send text."]
    shown = [*rows[:MAX_LISTED], *(more if len(rows) > MAX_LISTED else [])]
    return lines_of(shown, empty=f"There is no such {noun}.")


def read_suite(_caller: Caller, given: OneSlug) -> str:
    """Return a suite as its file."""
    return _file(lambda slug: download_suite(slug).content, given.slug, "suite", Suite)


def read_agent(_caller: Caller, given: OneSlug) -> str:
    """Return an agent as its file."""
    return _file(_agent_file, given.slug, "agent", Agent)


def _agent_file(slug: str) -> bytes:
    row = Agent.objects.filter(slug=slug).first()
    if row is None:
        raise LookupError(slug)
    return write_native(row.to_spec())


def read_fixture(_caller: Caller, given: OneSlug) -> str:
    """Return a fixture as its file."""
    return _file(lambda slug: download_fixture(slug).content, given.slug, "test data", Fixture)


def _file(
    read: Callable[[str], bytes], slug: str, what: str, model: type[Suite | Agent | Fixture]
) -> str:
    try:
        return sound(lambda: read(slug)).decode()
    except LookupError:
        hint = near(slug, model.objects.values_list("slug", flat=True))
        raise refused_at("slug", f"There is no {what} {slug!r}.{hint}") from None


def list_checks(_caller: Caller, given: CheckTypes) -> str:
    """List check types, family by family."""
    text = given.text.casefold()
    parts = []
    for family, title in FAMILIES.items():
        shown = [
            f"- {reference.kind}: {reference.first}"
            for kind, grader in GRADERS.items()
            if grader.family == family
            for reference in [reference_of(kind)]
            if text in f"{reference.kind} {reference.first} {reference.in_words}".casefold()
        ]
        if shown:
            parts.append("\n".join([f"{title}:", *shown]))
    return "\n\n".join(parts) or "There is no such check type. Leave text out to list all."


def describe_check(_caller: Caller, given: OneCheckType) -> str:
    """Describe a check type: when it passes, its options, and an example."""
    _require_type(given.type, "type")
    kind = ALIASES[given.type][0] if given.type in ALIASES else given.type
    if kind in GROUPS:
        key, members = GROUPS[kind]
        return f"{kind} with {key}: call describe_check with one of {', '.join(members)}."
    reference = reference_of(kind)
    common = [
        f"- {key}: {meaning} Default: {default}." for key, (default, meaning) in COMMON.items()
    ]
    parts = [
        f"{kind}: {reference.first}",
        f"For example: {reference.in_words}",
        reference.scoring,
        f"Model calls: {reference.calls}.",
        option_table(reference.grader),
        f"```yaml\n{reference.example}```",
        "\n".join(["Common keys:", *common]),
    ]
    return "\n\n".join(filter(None, parts))


def _require_type(kind: str, keys: str) -> None:
    """Refuse an unknown type with the nearest one."""
    if kind not in {*GRADERS, *ALIASES, *GROUPS}:
        raise unknown(kind, [*GRADERS], what="check type", keys=keys)


def read_guide(_caller: Caller, given: ReadGuide) -> str:
    """Return a page of the guide, or the list of pages."""
    known = pages()
    name = given.page.removesuffix(".md")
    if not name:
        return "\n".join(f"- {slug}: {title}" for slug, title in known.items())
    if name not in known:
        raise unknown(name, known, what="page", keys="page")
    return page(name)


def check_files(caller: Caller, given: Files) -> Told:
    """Report what writing files would do."""
    report = _import(caller, given, dry_run=True)
    parts = [f"No errors. version: {report.before}", "write_files would make these changes:"]
    parts += _changes(report)
    if report.replacing_edits:
        parts += map(edited_words, report.replacing_edits)
        parts.append("write_files refuses this unless you send replace: true.")
    if report.without_checks:
        parts += map(unchecked_words, report.without_checks)
        parts.append("write_files refuses this unless you send accept_no_checks: true.")
    text = "\n".join([*parts, *_remarks(report)])
    return Told(text, _files_data(report, version=report.before))


def _files_data(report: ImportReport, *, version: str) -> Json:
    changes = [ChangeOfFile.of_object(change) for change in report.changes]
    return FilesData.of(version=version, changes=changes, remarks=_remarks(report))


def write_files(caller: Caller, given: FilesToWrite) -> Told:
    """Write files."""
    before = [given.version] if given.version else []
    try:
        report = _import(
            caller,
            given,
            replace=given.replace,
            accept_no_checks=given.accept_no_checks,
            before=before,
        )
    except ChangedSinceError:
        message = (
            "Someone has changed something since: call check_files again. Nothing was written."
        )
        raise refused_at("version", message) from None
    text = "\n".join(["Written:", *_changes(report), *_remarks(report)])
    return Told(text, _files_data(report, version=report.after))


def _import(caller: Caller, given: Files, **how: Any) -> ImportReport:
    files = [SourceFile(file.path, file.content.encode()) for file in given.files]

    def approve(report: ImportReport) -> None:
        is_blind = not (how.get("dry_run") or how.get("before"))
        replaces = any(change.what == "updated" for change in report.changes)
        if is_blind and replaces and caller.token is not None and caller.token.requires_if_match:
            message = "This token requires a version: send the one from check_files."
            raise refused_at("version", message)

    return import_files(
        files, agent=given.agent, rights=Rights.of(caller.user), approve=approve, **how
    )


def _changes(report: ImportReport) -> list[str]:
    return [line for change in report.changes for line in _change(change)]


def _change(change: ObjectChange) -> Iterable[str]:
    cases = f" {change.cases}" if str(change.cases) else ""
    yield f"- {change.what}: {change.name} {change.slug}.{cases}"
    for difference in change.differences[:_DIFFERENCES]:
        before, after = (value or "nothing" for value in (difference.before, difference.after))
        yield f"  - {difference.keys}: {before} -> {after}"
    if (more := len(change.differences) - _DIFFERENCES) > 0:
        yield f"  - and {more:,} more differences"


def _remarks(report: ImportReport) -> list[str]:
    return [
        *(f"Warning: {warning}" for warning in report.warnings),
        *([checks_not_read(report.checks_lost, report.checks_read)] if report.checks_lost else []),
        *(f"Left out, because it is not supported here: {loss}" for loss in report.losses),
    ]


def try_check(caller: Caller, given: OneCheck) -> Told:
    """Grade one check on a reply."""
    if not any(map(caller.user.has_perm, _MAY_TRY)):
        raise PermissionDenied(
            f"The user {caller.user.get_username()} may not write cases, so they cannot try checks."
        )
    _require_type(str(given.check.get("type", "")), "check.type")
    check = read_body(_Written, {"check": given.check}).check
    last = None if given.execution is None else _conversation(caller, given.execution)
    reply = given.reply
    if reply is None:
        if last is None:
            raise refused_at(
                "reply", "Send a reply, or `execution`, a conversation whose reply to grade."
            )
        turns = last.turns[: given.turn or None]
        if not turns or (given.turn or 0) > len(last.turns):
            ran = count_text(len(last.turns), "turn")
            raise refused_at("turn", f"This conversation has only {ran}.")
        reply = turns[-1].reply
    grade = async_to_sync(grade_pasted)(
        check, reply=reply, turn=given.turn, expected=given.expected, last=last
    )
    data = TriedCheckData.of_object(grade, status=grade.status.value)
    if grade.status is not GradeStatus.OK:
        return Told(f"{grade.status.value}: {grade.reason}", data)
    verdict = {True: "passed", False: "failed", None: "informational only"}[grade.passed]
    score = "" if grade.score is None else f" (score {grade.score:.2f})"
    return Told(f"{verdict}{score}: {grade.reason}", data)


def _conversation(caller: Caller, pk: int) -> Trial:
    caller.require("evals_app.view_execution")
    row = Execution.objects.filter(pk=pk).values("source_id").first()
    if row is None:
        raise refused_at("execution", f"Conversation {pk} does not exist.")
    stored = Transcript.objects.filter(pk=row["source_id"] or pk).first()
    trial = None if stored is None else stored.to_trial()
    if trial is None:
        raise RefusedError(f"What was said in conversation {pk} is not stored, so send a reply.")
    return trial
