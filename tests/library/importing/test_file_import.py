import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evals_app.engine.specs.files import sha256_of
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.changes.import_report import ImportReport, ObjectChange
from evals_app.library.deleting.restoring import restore_deleted
from evals_app.library.exporting.file_export import export_files
from evals_app.library.importing import file_import
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import Rights
from evals_app.models import Agent, Attachment, Case, DeletedObject, Provider, Suite
from evals_app.models.people.activity import COMMAND_LINE
from fixtures_app.models import Entity, EntityType, Fixture
from tests.engine.operator_code import operator_code_in
from tests.library.written import (
    AGENT,
    EVERYTHING,
    FIXTURE,
    JUDGE,
    PROJECT,
    PROVIDER,
    SUITE,
    outcomes,
    written,
)

pytestmark = pytest.mark.django_db


TABLES: list[Any] = [Suite, Case, Agent, Fixture, Entity, EntityType, Provider]


def counted() -> list[int]:
    return [model.objects.count() for model in TABLES]


def test_an_import_creates_everything_and_a_second_one_changes_nothing() -> None:
    first = import_files(EVERYTHING)
    second = import_files(EVERYTHING[::-1])

    assert set(outcomes(first).values()) == {"created"}
    assert outcomes(first).keys() == {
        *("agent shop", "agent strict", "agent clerk", "suite refunds"),
        *("fixture orders", "entity type order", "entity type customer"),
    }
    assert set(outcomes(second).values()) == {"unchanged"}


def test_what_a_process_excludes_from_garbage_collection_stays_excluded() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()

    import_files(EVERYTHING)

    assert gc.get_freeze_count() > frozen // 2
    assert gc.isenabled()


def test_a_dry_run_tells_the_same_and_writes_nothing() -> None:
    before = counted()

    tried = import_files(EVERYTHING, dry_run=True)

    assert counted() == before
    assert tried.changes == import_files(EVERYTHING).changes


def test_only_what_differs_is_updated() -> None:
    import_files(EVERYTHING)
    other = SourceFile(AGENT.path, AGENT.content.replace(b"Hello!", b"Good day!"))

    report = import_files([other, SUITE])

    assert outcomes(report) == {"agent shop": "updated", "suite refunds": "unchanged"}
    assert Agent.objects.get(slug="shop").connection["rules"][1]["reply"] == "Good day!"


@pytest.mark.parametrize("how", [{}, {"edit": "Changed over REST."}])
def test_cases_that_the_files_no_longer_have_can_be_restored(how: dict[str, Any]) -> None:
    ann = User.objects.create_user("ann")
    import_files(EVERYTHING)
    suite = Suite.objects.get()
    gone = suite.cases.get(name="Asks for a refund")
    before = gone.to_spec()
    head, _, _ = SUITE.content.partition(b"  - name: Asks")
    other = suite.cases.exclude(pk=gone.pk).get().name
    fewer = head + f"  - {{name: {other}, turns: [{{user: Hello}}]}}\n".encode()

    report = import_files([SourceFile(SUITE.path, fewer)], rights=Rights(user=ann), **how)

    (entry,) = report.deleted
    assert list(DeletedObject.objects.all()) == [entry]
    assert (entry.name, entry.about, entry.by) == (gone.name, "Case of “Refunds”", ann)
    notes = [
        *LogEntry.objects.filter(content_type__model="case", action_flag=DELETION),
        *LogEntry.objects.filter(content_type__model="suite", user=ann),
    ]
    assert [note.object_repr for note in notes] == [gone.name, "Refunds"]
    assert "Deleted 1 case: “Asks for a refund”" in notes[1].change_message

    restore_deleted(entry, by=ann)

    assert suite.cases.get(pk=gone.pk).to_spec() == before
    assert suite.cases.count() == 2


def test_what_an_import_of_the_command_line_deletes_has_an_author() -> None:
    import_files(EVERYTHING)
    head, _, _ = SUITE.content.partition(b"  - turns: [{user: Hello")

    (entry,) = import_files([SourceFile(SUITE.path, head)]).deleted

    assert entry.by_name == COMMAND_LINE


def test_one_wrong_file_keeps_all_others_out() -> None:
    before = counted()
    wrong = written("wrong.agent.yaml", "agent: X\nslug: x\ndriver: scripted\nruls: []\n")

    with pytest.raises(FormatError) as caught:
        import_files([*EVERYTHING, wrong])

    assert any("ruls" in str(problem) for problem in caught.value.problems)
    assert counted() == before


def test_references_to_what_is_stored_are_known_and_to_what_is_nowhere_refused() -> None:
    with pytest.raises(FormatError, match="No agent 'shop' exists"):
        import_files([SUITE, FIXTURE, JUDGE])
    import_files([AGENT, JUDGE, FIXTURE])

    assert outcomes(import_files([SUITE])) == {"suite refunds": "created"}


@pytest.mark.parametrize(
    ("check", "near"),
    [
        pytest.param("{type: tool_called, value: entity.qery}", "entity.query", id="tool"),
        pytest.param("{type: chunks_fetched, chunks: [polcy]}", "policy", id="chunk"),
        pytest.param("{type: world_changes, deleted: [{id: ordre-1}]}", "order-1", id="entity"),
        pytest.param("{type: world_changes, created: [{type: ordr}]}", "order", id="type"),
    ],
)
def test_checks_are_compared_with_what_is_stored(check: str, near: str) -> None:
    import_files([AGENT, FIXTURE])
    suite = written(
        "s.suite.yaml",
        f"""
        suite: S
        slug: s
        agent: shop
        fixtures: orders
        cases: [{{turns: [{{user: hi, assertions: [{check}]}}]}}]
        """,
    )

    with pytest.raises(FormatError, match=f"'{near}'"):
        import_files([suite])


def test_entities_are_compared_with_stored_types() -> None:
    import_files([FIXTURE])
    other = written(
        "more.fixture.yaml",
        """
        name: More
        slug: more
        chunks: []
        entities: [{ref: order-9, type: order, data: {total: many}}]
        """,
    )

    with pytest.raises(FormatError, match="does not fit entity type 'order'"):
        import_files([other])

    assert not Fixture.objects.filter(slug="more").exists()


STRICTER = FIXTURE.content.replace(b"type: number", b"type: number, minimum: 5")


def test_a_schema_that_stored_entities_do_not_fit_is_refused() -> None:
    import_files([FIXTURE])
    other = SourceFile(
        "other.fixture.yaml",
        b"name: Other\nslug: other\nentities: []\nentity_types:\n"
        b"  - {slug: order, schema: {properties: {total: {minimum: 5}}}}\n",
    )

    with pytest.raises(FormatError, match="'order-2' in test data 'orders': “total") as caught:
        import_files([other])

    assert caught.value.problems[0].path == "other.fixture.yaml"
    assert EntityType.objects.get(slug="order").schema["required"] == ["total"]


def test_a_schema_may_become_stricter_along_with_its_entities() -> None:
    import_files([FIXTURE])
    fitting = SourceFile(FIXTURE.path, STRICTER.replace(b"total: 3", b"total: 30"))

    report = import_files([fitting])

    assert outcomes(report) == {
        "entity type order": "updated",
        "entity type customer": "unchanged",
        "fixture orders": "updated",
    }


def test_what_the_approval_refuses_is_not_saved() -> None:
    before = counted()
    seen: list[ImportReport] = []

    def refuse(report: ImportReport) -> None:
        seen.append(report)
        raise PermissionDenied

    with pytest.raises(PermissionDenied):
        import_files([AGENT], approve=refuse)

    assert seen[0].changes == [ObjectChange("agent", "shop", "created")]
    assert counted() == before


def test_a_number_that_no_column_holds_is_refused_without_a_traceback() -> None:
    suite = SUITE.content.replace(b"max_time_ms: 4000", b"max_time_ms: " + b"9" * 30)

    with pytest.raises(FormatError):
        import_files([AGENT, JUDGE, FIXTURE, SourceFile(SUITE.path, suite)])

    assert not Suite.objects.exists()


# Struere


def test_a_struere_project_makes_open_types_and_keeps_stored_ones() -> None:
    first = import_files(PROJECT)
    EntityType.objects.filter(slug="pupil").update(schema={"required": ["age"]})
    second = import_files(PROJECT)

    assert outcomes(first)["entity type pupil"] == "created"
    assert any("pupil" in warning.message for warning in first.warnings)
    assert set(outcomes(second).values()) == {"unchanged"}
    assert EntityType.objects.get(slug="pupil").schema == {"required": ["age"]}
    assert Suite.objects.get(slug="refunds").fixtures.get().slug == "pupils"


def test_an_eval_file_that_comes_alone_leaves_its_suite_the_data_it_has() -> None:
    import_files(PROJECT)
    report = import_files([file for file in PROJECT if "fixture" not in file.path])

    assert set(outcomes(report).values()) == {"unchanged"}
    assert [warning.message.rpartition(" ")[2] for warning in report.warnings] == ["pupils."]


def test_a_provider_whose_prices_differ_is_updated() -> None:
    import_files([PROVIDER])
    other = SourceFile(PROVIDER.path, PROVIDER.content.replace(b"2.5", b"2.6"))

    assert outcomes(import_files([PROVIDER])) == {"provider proxy": "unchanged"}
    assert outcomes(import_files([other])) == {"provider proxy": "updated"}
    assert outcomes(import_files([other])) == {"provider proxy": "unchanged"}


def import_and_hang_up(files: list[SourceFile]) -> None:
    try:
        import_files(files)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_moment_leave_one_of_them_whole() -> None:
    suites = [
        SourceFile(SUITE.path, SUITE.content.replace(b"Thanks", b"Thanks %d" % number))
        for number in range(4)
    ]
    files = [[AGENT, JUDGE, FIXTURE, suite] for suite in suites]
    with ThreadPoolExecutor(len(suites)) as pool:
        list(pool.map(import_and_hang_up, files))

    last = export_files(["refunds"]).files["refunds.suite.yaml"]
    assert last.count(b"Thanks") == 1
    assert set(outcomes(import_files([SourceFile(SUITE.path, last)])).values()) == {"unchanged"}


# What happens while an import reads


def graded(reference: str) -> SourceFile:
    return written(
        "graded.suite.yaml",
        f"""
        suite: Graded
        slug: graded
        agent: shop
        cases: [{{name: a, turns: [{{user: Hi, assertions: [{{type: code, grader: {reference}}}]}}]}}]
        """,
    )


@pytest.mark.django_db(transaction=True)
def test_others_write_while_code_of_the_operators_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with operator_code_in(tmp_path, monkeypatch) as code, ThreadPoolExecutor(1) as pool:
        reference = code.function(
            f"""
            import pathlib, time
            folder = pathlib.Path({str(tmp_path)!r})
            (folder / "began").touch()
            while not (folder / "go on").exists():
                time.sleep(0.01)
            def it(context): return True
            """
        )
        importing = pool.submit(import_and_hang_up, [AGENT, graded(reference)])
        until = time.monotonic() + 15
        while not (tmp_path / "began").exists() and time.monotonic() < until:
            time.sleep(0.01)

        Agent.objects.create(slug="other", name="Other")

        was_importing = importing.running()
        (tmp_path / "go on").touch()
        importing.result()
    assert was_importing
    assert Suite.objects.get().slug == "graded"


def test_code_of_the_operators_has_a_time_for_all_of_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "_CODE_S", 0.0)
    with operator_code_in(tmp_path, monkeypatch) as code:
        reference = code.function("def it(context): return True")

        with pytest.raises(FormatError, match="no time left to import"):
            import_files([AGENT, graded(reference)])


PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@pytest.mark.parametrize(
    ("happens", "problem"),
    [
        pytest.param(Agent.objects.all().delete, "No agent 'shop' exists", id="agent"),
        pytest.param(Attachment.objects.all().delete, "There is no file stored.png", id="file"),
    ],
)
def test_what_goes_while_an_import_reads_is_missed(
    happens: Callable[[], Any], problem: str
) -> None:
    import_files([AGENT])
    Attachment.objects.store([PNG])
    suite = written(
        "shown.suite.yaml",
        f"""
        suite: Shown
        slug: shown
        agent: shop
        assertions: [{{type: contains, value: a}}]
        cases:
          - name: a
            turns:
              - {{user: Look, files: [{{path: stored.png, sha256: {sha256_of(PNG)}}}]}}
              - {{user: Look, files: [beside.png]}}
        """,
    )

    def find(path: str) -> bytes | None:
        if path != "beside.png":
            return None
        happens()
        return PNG + b"another"

    with pytest.raises(FormatError, match=problem):
        import_files([suite], find=find)

    assert not Suite.objects.exists()


def test_a_trial_tells_what_is_sound_though_something_stored_is_not() -> None:
    import_files(EVERYTHING)
    EntityType.objects.create(slug="of-an-older-version", schema={"type": 5})
    Entity.objects.filter(ref="order-1").update(ref="")

    tried = import_files([AGENT, FIXTURE], dry_run=True)

    assert outcomes(tried)["agent shop"] == "unchanged"
    assert outcomes(tried)["fixture orders"] == "updated"


def test_only_pruning_looks_at_the_suites_that_are_not_imported() -> None:
    import_files(EVERYTHING)

    with CaptureQueriesContext(connection) as asked:
        import_files([AGENT])

    assert not [query for query in asked if '"evals_app_suite"' in query["sql"]]


# Judges

UNJUDGED = b"""\
suite: Refunds
slug: refunds
agent: scripted-one
rubric: "- Polite"
cases: [{name: a, turns: [{user: Hello}]}]
"""
SCRIPTED = b"agent: One\nslug: scripted-one\ndriver: scripted\nrules: [{reply: Hello.}]\n"


@pytest.mark.parametrize(
    ("suite", "variable", "is_warned"),
    [
        pytest.param(UNJUDGED, "OPENAI_API_KEY", True, id="nobody judges"),
        pytest.param(UNJUDGED, "ANTHROPIC_API_KEY", False, id="the site's judge has a key"),
        pytest.param(UNJUDGED + b"judge_model: scripted/scripted-one\n", "X", False, id="by suite"),
    ],
)
def test_an_import_warns_of_a_suite_that_nobody_can_judge(
    monkeypatch: pytest.MonkeyPatch, suite: bytes, variable: str, *, is_warned: bool
) -> None:
    monkeypatch.setenv(variable, "k")
    files = {"one.agent.yaml": SCRIPTED, "refunds.suite.yaml": suite}

    report = import_files([SourceFile(path, content) for path, content in files.items()])

    assert ["OpenAI" in warning.message for warning in report.warnings] == [True] * is_warned
