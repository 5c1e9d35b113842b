import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openpyxl import load_workbook

from evals_app.engine.record.trial import ToolCall, Verdict
from evals_app.engine.verdicts.execution_verdict import Decision, execution_summary
from evals_app.models import Execution, Run
from evals_app.reports.reference.report_schema import report_schema
from evals_app.reports.words.kinds import KIND_NAMES, KINDS, KindName
from evals_app.runs.reporting import ReportFile, encode, report, report_content, write_folder
from tests.makers import make_execution, make_grade, make_run, make_trial
from tests.runs.recorded.conversations import make_set

pytestmark = pytest.mark.django_db


def link(model: str, pk: int) -> str:
    return f"https://host/{model}/{pk}"


def make_varied_run() -> Run:
    """Write a run with every kind of end, and a conversation with all there is."""
    run = make_run(
        {"=HYPERLINK()": ["passed", "failed"], "B": ["errored"], "C": ["not_run"]},
        gates={"min_score": 0.9},
        judge="acme/judge",
    )
    call = ToolCall("order.get", {"id": 7}, result={"paid": True}, duration_ms=2.0)
    quote = {"quote": "way", "turn": 1, "bears_on": "", "is_verified": True}
    make_execution(
        run,
        "D",
        state="failed",
        trial=make_trial(turns=2, calls=[call], warnings=("Careful.",)),
        grades=[make_grade(evidence=[quote]), make_grade(None, passed=False, score=0.0)],
    )
    summary = execution_summary(make_trial(), [], Decision(Verdict.FAILED, 0.5))
    Execution.objects.exclude(summary={}).update(summary=summary)
    return Run.objects.get(pk=run.pk)


def content(kind: KindName, *runs: Run) -> bytes:
    return b"".join(report_content(kind, runs, link=link))


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_every_kind_has_every_case_and_is_written_in_pieces(kind: KindName) -> None:
    run = make_varied_run()

    file = report(kind, run, link=link)

    assert isinstance(file, ReportFile)
    assert isinstance(file.content, Iterator)
    assert file.name == f"run-{run.pk}-refunds{KINDS[kind].suffix}"
    written = b"".join(file.content)
    if kind in {"folder", "xlsx"}:
        written = b"".join(map(_unpacked(written).read, _unpacked(written).namelist()))
    assert b"HYPERLINK()" in written
    assert b"https://host/" in written or kind in {"json", "gitlab"}


def _unpacked(archive: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(archive))


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_every_kind_can_be_written_of_an_open_run_and_of_several(kind: KindName) -> None:
    waits = make_run(["queued", "running", "passed"])

    assert content(kind, waits)
    assert content(kind, waits, make_run(["passed"]))


@pytest.mark.parametrize("count", [1, 2])
def test_the_json_is_as_its_schema_says(count: int) -> None:
    runs = [make_varied_run() for _ in range(count)]
    waits = make_run(["queued"])
    make_execution(waits, "E", state="cancelled")

    validator = Draft202012Validator(report_schema(), format_checker=FormatChecker())

    for shown in (runs, [*runs, waits]):
        assert [
            error.message for error in validator.iter_errors(json.loads(content("json", *shown)))
        ] == []


def test_no_cell_of_a_table_is_a_formula() -> None:
    run = make_varied_run()

    rows = list(csv.reader(io.StringIO(content("csv", run).decode("utf-8-sig"))))
    book = load_workbook(io.BytesIO(content("xlsx", run)))

    case = rows[0].index("case")
    assert rows[1][case] == "'=HYPERLINK()"
    cells = [cell for row in book["Results"].iter_rows() for cell in row]
    assert "=HYPERLINK()" in {cell.value for cell in cells}
    assert {cell.data_type for cell in cells} <= {"s", "n"}


def test_numbers_are_numbers_in_excel_and_what_is_unknown_is_empty() -> None:
    book = load_workbook(io.BytesIO(content("xlsx", make_varied_run())))

    headers, first, *_ = book["Results"].iter_rows(values_only=True)
    cell = dict(zip(headers, first, strict=True))

    assert (cell["score"], cell["agent_prompt_tokens"]) == (1, 120)
    assert (cell["cost_usd"], cell["judge_prompt_tokens"]) == (None, None)


def test_a_folder_on_disk_is_that_of_the_archive(tmp_path: Path) -> None:
    run = make_varied_run()

    write_folder([run], tmp_path / "runs", link=link)

    files = {
        path.relative_to(tmp_path / "runs").as_posix(): path.read_bytes()
        for path in (tmp_path / "runs").rglob("*.md")
    }
    archive = _unpacked(content("folder", run))
    assert files == {name: archive.read(name) for name in archive.namelist()}
    assert archive.testzip() is None
    assert len(files) == 5


@pytest.mark.parametrize(
    ("kind", "queries"),
    [
        pytest.param("decision", 4, id="decision"),
        pytest.param("markdown", 9, id="markdown"),
        pytest.param("csv", 6, id="csv"),
        pytest.param("github", 6, id="github"),
        pytest.param("gitlab", 6, id="gitlab"),
        pytest.param("junit", 11, id="junit"),
        pytest.param("html", 9 + 2 * 4, id="html"),
        pytest.param("json", 4 + 4, id="json"),
    ],
)
def test_how_often_a_report_asks_does_not_depend_on_the_number_of_cases(
    kind: KindName, queries: int, django_assert_num_queries: Any
) -> None:
    run = make_run(["passed"] * 20 + ["failed"] * 20)
    run.suite  # noqa: B018 - loaded, as where reports are written

    with django_assert_num_queries(queries):
        content(kind, run)


def test_half_of_a_surrogate_pair_does_not_break_a_report() -> None:
    assert b"".join(encode(["a\ud800b"])) == b"a?b"


@pytest.mark.parametrize("kind", ["html", "markdown", "folder", "github"])
def test_a_report_of_real_conversations_names_their_set_and_counts_conversations(
    kind: KindName,
) -> None:
    target = make_set()
    run = make_run({"T-1": ["passed"], "T-2": ["failed"]}, agent_name="Recorded")
    Run.objects.filter(pk=run.pk).update(conversation_set=target)

    text = content(kind, Run.objects.get(pk=run.pk))
    if kind == "folder":
        with zipfile.ZipFile(io.BytesIO(text)) as archive:
            text = b"".join(map(archive.read, archive.namelist()))

    words = " ".join(text.decode().split())
    assert "Help desk" in words
    assert "Recorded" not in words
    assert "Conversations passed" in words
    assert "Cases passed" not in words
