import io
from collections.abc import Mapping
from typing import Any

import pytest
from openpyxl import load_workbook

from evals_app.formats.importing import SourceFile
from evals_app.formats.reading import parsed_file, yaml_source
from evals_app.formats.reading.problems import Problem
from evals_app.library.exporting import file_export
from evals_app.library.exporting.file_export import FORMS, Form, export_files
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Attachment, Case, Provider, Suite
from fixtures_app.models import Entity, EntityType, Fixture
from tests.library.written import AGENT, EVERYTHING, FIXTURE, PROJECT, PROVIDER, outcomes, written

pytestmark = pytest.mark.django_db

USUAL_PROVIDERS = ("anthropic", "openai", "gemini", "groq", "openrouter", "ollama", "scripted")
TABLES: list[Any] = [Suite, Case, Agent, Fixture, Entity, EntityType, Provider]

PLAIN = written(
    "plain.suite.yaml",
    """
    suite: Plain
    slug: plain
    agent: shop
    cases:
      - {name: a, turns: [{user: Hi, assertions: [{type: contains, value: hello}]}]}
      - {name: b, turns: [{user: Well}, {user: Really, expected: ok}]}
    """,
)
SHOWN = written(
    "shown.suite.yaml",
    """
    suite: Shown
    slug: shown
    agent: shop
    assertions: [{type: contains, value: a}]
    cases: [{name: a, turns: [{user: Look, files: [note.txt]}]}]
    """,
)
OTHER = SourceFile("other.suite.yaml", PLAIN.content.replace(b"lain", b"ea").replace(b"P", b"T"))


def as_files(exported: Mapping[str, bytes]) -> list[SourceFile]:
    return [SourceFile(name, content) for name, content in exported.items()]


def test_an_export_is_imported_unchanged_and_exported_to_the_same_bytes() -> None:
    import_files([*EVERYTHING, PROVIDER])

    export = export_files()
    exported = export.files
    report = import_files(as_files(exported))

    assert export.warnings == []
    assert b"slug: customer" in exported["orders.fixture.yaml"]  # a type that no entity has
    assert set(outcomes(report).values()) == {"unchanged"}
    assert export_files().files == exported
    assert exported.keys() == {
        *("shop.agent.yaml", "strict.agent.yaml", "clerk.agent.yaml", "refunds.suite.yaml"),
        *("orders.fixture.yaml", "proxy.provider.yaml"),
        *(f"{usual}.provider.yaml" for usual in USUAL_PROVIDERS),
    }


def test_prices_are_exported_as_a_person_would_write_them() -> None:
    import_files([PROVIDER])

    exported = export_files().files["proxy.provider.yaml"].decode()

    _, _, prices = exported.partition("prices:\n")
    assert prices.startswith(
        "  - model: claude-haiku-*\n"
        '    valid_from: "2026-05-01"\n'
        "    input_usd: 0.1\n"
        "    output_usd: 0.5\n"
        "    cache_read_usd: 0.000000001\n"
        "    cache_write_5m_usd: 0.125\n"
        "    cache_write_1h_usd: 2\n"
    )


def test_an_export_fills_an_empty_site_to_the_same_bytes() -> None:
    import_files([*EVERYTHING, PROVIDER])
    import_files(PROJECT[2:])
    exported = export_files().files
    for model in TABLES:
        model.objects.all().delete()

    report = import_files(as_files(exported))

    assert set(outcomes(report).values()) == {"created"}
    assert export_files().files == exported


def test_named_suites_come_with_all_that_they_need_and_nothing_else() -> None:
    of_clerk = SourceFile(PLAIN.path, PLAIN.content.replace(b"agent: shop", b"agent: clerk"))
    import_files([*EVERYTHING, of_clerk])

    refunds, other = export_files(["refunds"]).files, export_files(["plain"]).files

    assert refunds.keys() == {
        *("refunds.suite.yaml", "shop.agent.yaml", "strict.agent.yaml", "orders.fixture.yaml"),
        "scripted.provider.yaml",
    }
    assert other.keys() == {"plain.suite.yaml", "clerk.agent.yaml", "anthropic.provider.yaml"}


def test_the_provider_of_embeddings_comes_along() -> None:
    alike = "assertions: [{type: semantic_similarity, value: a, embedding_model: proxy/embed}]\n"
    import_files([AGENT, PROVIDER, SourceFile(PLAIN.path, PLAIN.content + alike.encode())])

    assert "proxy.provider.yaml" in export_files(["plain"]).files


def test_a_suite_whose_scripted_judge_is_gone_is_shown() -> None:
    import_files(EVERYTHING)
    Agent.objects.get(slug="strict").delete()

    (warning,) = export_files(["refunds"]).warnings

    assert (warning.path, warning.level) == ("refunds.suite.yaml", "warning")
    assert "'strict', no longer exists" in warning.message


def test_an_unknown_suite_is_named_with_the_nearest_one() -> None:
    import_files(EVERYTHING)

    with pytest.raises(LookupError, match=r"There is no suite 'refund'\. Did you mean 'refunds'\?"):
        export_files(["refund"])


def test_what_is_archived_is_left_out_unless_it_is_named() -> None:
    import_files(EVERYTHING)
    Suite.objects.archive()

    everything, named = export_files().files, export_files(["refunds"]).files

    assert "refunds.suite.yaml" not in everything
    assert "shop.agent.yaml" in everything
    assert "refunds.suite.yaml" in named


# What an import would not take


@pytest.mark.parametrize(
    ("limit", "size", "reason"),
    [
        pytest.param("MAX_BYTES", 100, "file is larger", id="bytes"),
        pytest.param("MAX_NODES", 10, "more than 10 values", id="values"),
    ],
)
def test_a_file_that_an_import_would_refuse_is_shown(
    monkeypatch: pytest.MonkeyPatch, limit: str, size: int, reason: str
) -> None:
    import_files(EVERYTHING)
    # The limits are those of all readers; a suite that exceeds them takes a minute to save.
    for module in (parsed_file, yaml_source, file_export):
        monkeypatch.setattr(module, limit, size, raising=False)

    warnings = export_files(["refunds"]).warnings

    (refused,) = [warning for warning in warnings if warning.path == "refunds.suite.yaml"]
    assert refused.level == "warning"
    assert reason in refused.message


def test_no_file_has_more_values_than_are_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = AGENT.content.replace(b"{type: order}", b"{filters: [[[1, 2], []], [[a: {b: [c]}]]]}")
    import_files([*EVERYTHING[1:], PROVIDER, SourceFile(AGENT.path, nested)])

    for path, content in export_files().files.items():
        most = file_export._most_values(content)  # noqa: SLF001 - what saves reading every file
        monkeypatch.setattr(yaml_source, "MAX_NODES", most)
        assert yaml_source.read_yaml(path, content)


# Other formats


def lost(losses: list[Problem]) -> set[str]:
    assert all(loss.level == "loss" for loss in losses)
    return {f"{loss.path}: {loss.keys}" if loss.keys else loss.path for loss in losses}


def test_a_struere_project_is_exported_with_all_that_it_loses() -> None:
    import_files([*EVERYTHING])

    export = export_files(["refunds"], form="struere")

    assert export.files.keys() == {*("evals/refunds.eval.yaml", "fixtures/orders.fixture.yaml")}
    assert lost(export.losses) > {
        *("shop.agent.yaml", "strict.agent.yaml", "scripted.provider.yaml"),
        *("fixtures/orders.fixture.yaml: chunks", "evals/refunds.eval.yaml: trials"),
        "fixtures/orders.fixture.yaml: entity_types[0]",
        "fixtures/orders.fixture.yaml: entity_types[1]",
    }


def test_a_struere_project_comes_back_from_its_export_as_it_was() -> None:
    import_files(PROJECT)
    before = Suite.objects.with_everything().get().to_spec()

    export = export_files(form="struere")
    report = import_files(as_files(export.files))

    assert outcomes(report) == {"suite refunds": "unchanged", "fixture pupils": "unchanged"}
    assert Suite.objects.with_everything().get().to_spec() == before
    assert not [loss for loss in export.losses if loss.path.startswith("evals/")]


@pytest.mark.parametrize(
    ("form", "names"),
    [
        pytest.param("xlsx", {"suites.suite.xlsx"}, id="one workbook"),
        pytest.param("csv", {"plain.suite.csv", "pea.suite.csv"}, id="a file for each suite"),
    ],
)
def test_tables_hold_suites_and_nothing_else(form: Form, names: set[str]) -> None:
    import_files([AGENT, FIXTURE, PLAIN, OTHER])

    export = export_files(form=form)
    report = import_files(as_files(export.files))

    assert export.files.keys() == names
    assert lost(export.losses) == {
        *("shop.agent.yaml", "orders.fixture.yaml"),
        *(f"{usual}.provider.yaml" for usual in USUAL_PROVIDERS),
    }
    assert outcomes(report) == {"suite plain": "unchanged", "suite pea": "unchanged"}


@pytest.mark.parametrize("form", ["native", "xlsx", "csv"])
def test_what_turns_show_comes_along(form: Form) -> None:
    import_files([AGENT, SHOWN], find=lambda _: b"A note.")

    export = export_files(["shown"], form=form)
    Suite.objects.all().delete()
    Attachment.objects.all().delete()
    report = import_files(as_files(export.files))

    assert export.files["shown.files/note.txt"] == b"A note."
    assert outcomes(report)["suite shown"] == "created"


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_what_a_table_cannot_say_of_a_suite_is_shown_too(form: Form) -> None:
    empty = SourceFile("empty.suite.yaml", b"suite: Empty\nslug: empty\nagent: shop\ncases: []\n")
    import_files([AGENT, empty, PLAIN])

    assert f"empty.suite.{form}: cases" in lost(export_files(form=form).losses)


@pytest.mark.parametrize("form", FORMS)
def test_a_site_without_suites_exports_no_suite(form: Form) -> None:
    assert not [path for path in export_files(form=form).files if "suite" in path or "eval" in path]


def test_a_workbook_offers_the_tools_of_the_agent() -> None:
    tools = AGENT.content.replace(b"[entity.query]", b"[entity.query, entity.create]")
    called = b"type: tool_called, value: entity.query"
    checked = PLAIN.content.replace(b"type: contains, value: hello", called)
    import_files([SourceFile(AGENT.path, tools), SourceFile(PLAIN.path, checked)])

    (content,) = export_files(["plain"], form="xlsx").files.values()
    sheet = load_workbook(io.BytesIO(content))["plain"]

    offered = [item.formula1 for item in sheet.data_validations.dataValidation]
    assert offered == ['"entity.create,entity.query"']


def test_files_from_above_the_folder_of_a_suite_are_exported_and_imported_unchanged() -> None:
    import_files([AGENT])
    data = b'{"skill_name": "notes", "evals": [{"prompt": "Hi", "assertions": ["Says hi"], "files": ["a/b.md"]}]}'
    import_files(
        [SourceFile("x/evals/evals.json", data)], agent="shop", find={"x/a/b.md": b"# B"}.get
    )

    exported = export_files().files

    assert exported["notes.files/a/b.md"] == b"# B"
    assert set(outcomes(import_files(as_files(exported))).values()) == {"unchanged"}
