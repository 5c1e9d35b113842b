from threading import Thread
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection

from evals_app.formats import FormatError, SourceFile
from evals_app.library import Change, ImportReport, export_files, import_files
from evals_app.models import Agent, Case, Provider, Suite
from fixtures_app.models import Entity, EntityType, Fixture
from tests.library.written import (
    AGENT,
    EVERYTHING,
    FIXTURE,
    JUDGE,
    MODEL_AGENT,
    PROVIDER,
    SUITE,
    written,
)

pytestmark = pytest.mark.django_db


def outcomes(report: ImportReport) -> dict[str, str]:
    return {f"{each.kind} {each.slug}": each.what for each in report.changes}


def as_files(exported: dict[str, bytes]) -> list[SourceFile]:
    return [SourceFile(name, content) for name, content in exported.items()]


TABLES: list[Any] = [Suite, Case, Agent, Fixture, Entity, EntityType, Provider]


def counted() -> list[int]:
    return [model.objects.count() for model in TABLES]


def test_an_import_creates_everything_and_a_second_one_changes_nothing() -> None:
    first = import_files(EVERYTHING)
    second = import_files(EVERYTHING)

    assert set(outcomes(first).values()) == {"created"}
    assert outcomes(first).keys() == {
        *("agent shop", "agent strict", "agent clerk", "suite refunds"),
        *("fixture orders", "entity type order", "entity type customer"),
    }
    assert set(outcomes(second).values()) == {"unchanged"}


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
    assert Agent.objects.get(slug="shop").rules[1]["reply"] == "Good day!"


def test_one_wrong_file_keeps_all_others_out() -> None:
    before = counted()
    wrong = written("wrong.agent.yaml", "agent: X\nslug: x\ndriver: scripted\nruls: []\n")

    with pytest.raises(FormatError) as caught:
        import_files([*EVERYTHING, wrong])

    assert any("ruls" in str(problem) for problem in caught.value.problems)
    assert counted() == before


def test_references_to_what_is_stored_are_known() -> None:
    import_files([AGENT, JUDGE, FIXTURE])

    assert outcomes(import_files([SUITE])) == {"suite refunds": "created"}


def test_references_to_what_is_nowhere_are_refused() -> None:
    with pytest.raises(FormatError, match="No agent 'shop' exists"):
        import_files([SUITE, FIXTURE, JUDGE])


def test_entities_are_held_against_stored_types() -> None:
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

    with pytest.raises(FormatError, match="'order-2' of fixture 'orders': total") as caught:
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

    assert seen[0].changes == [Change("agent", "shop", "created")]
    assert counted() == before


def test_a_number_that_no_column_holds_is_refused_without_a_traceback() -> None:
    suite = SUITE.content.replace(b"max_time_ms: 4000", b"max_time_ms: " + b"9" * 30)

    with pytest.raises(FormatError):
        import_files([AGENT, JUDGE, FIXTURE, SourceFile(SUITE.path, suite)])

    assert not Suite.objects.exists()


# Struere


PROJECT = [
    AGENT,
    written(
        "school/evals/refunds.eval.yaml",
        """
        suite: Refunds
        slug: refunds
        agent: shop
        cases:
          - name: asks
            turns: [{user: Refund?, assertions: [{type: contains, value: way}]}]
        """,
    ),
    written(
        "school/fixtures/pupils.fixture.yaml",
        """
        name: Pupils
        slug: pupils
        entities: [{ref: ada, type: pupil, data: {age: 12}}]
        relations: []
        """,
    ),
]


def test_a_struere_project_makes_open_types_and_keeps_stored_ones() -> None:
    first = import_files(PROJECT)
    EntityType.objects.filter(slug="pupil").update(schema={"required": ["age"]})
    second = import_files(PROJECT)

    assert outcomes(first)["entity type pupil"] == "created"
    assert any("pupil" in warning.message for warning in first.warnings)
    assert set(outcomes(second).values()) == {"unchanged"}
    assert EntityType.objects.get(slug="pupil").schema == {"required": ["age"]}
    assert Suite.objects.get(slug="refunds").fixtures.get().slug == "pupils"


# Export


def test_an_export_is_imported_unchanged_and_exported_to_the_same_bytes() -> None:
    import_files([*EVERYTHING, PROVIDER])

    exported = export_files()
    report = import_files(as_files(exported))

    assert set(outcomes(report).values()) == {"unchanged"}
    assert export_files() == exported
    assert exported.keys() == {
        *("shop.agent.yaml", "strict.agent.yaml", "clerk.agent.yaml", "refunds.suite.yaml"),
        *("orders.fixture.yaml", "anthropic.provider.yaml", "scripted.provider.yaml"),
        "proxy.provider.yaml",
    }


def test_prices_are_exported_as_a_person_would_write_them() -> None:
    import_files([PROVIDER])

    exported = export_files()["proxy.provider.yaml"].decode()

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


def test_a_provider_whose_prices_differ_is_updated() -> None:
    import_files([PROVIDER])
    other = SourceFile(PROVIDER.path, PROVIDER.content.replace(b"2.5", b"2.6"))

    assert outcomes(import_files([PROVIDER])) == {"provider proxy": "unchanged"}
    assert outcomes(import_files([other])) == {"provider proxy": "updated"}
    assert outcomes(import_files([other])) == {"provider proxy": "unchanged"}


def test_an_export_fills_an_empty_site_to_the_same_bytes() -> None:
    import_files([*EVERYTHING, PROVIDER])
    import_files(PROJECT[2:])
    exported = export_files()
    for model in TABLES:
        model.objects.all().delete()

    report = import_files(as_files(exported))

    assert set(outcomes(report).values()) == {"created"}
    assert export_files() == exported


def test_named_suites_come_with_all_that_they_need_and_nothing_else() -> None:
    alone = written(
        "alone.suite.yaml",
        """
        suite: Alone
        slug: alone
        agent: clerk
        cases: [{name: one, turns: [{user: Hi, assertions: [{type: contains, value: x}]}]}]
        """,
    )
    import_files([*EVERYTHING, alone])

    refunds, other = export_files(["refunds"]), export_files(["alone"])

    assert refunds.keys() == {
        *("refunds.suite.yaml", "shop.agent.yaml", "strict.agent.yaml", "orders.fixture.yaml"),
        "scripted.provider.yaml",
    }
    assert other.keys() == {"alone.suite.yaml", "clerk.agent.yaml", "anthropic.provider.yaml"}


def test_an_unknown_suite_is_named_with_the_nearest_one() -> None:
    import_files(EVERYTHING)

    with pytest.raises(LookupError, match=r"There is no suite 'refund'\. Did you mean 'refunds'\?"):
        export_files(["refund"])


def test_types_that_no_entity_has_are_exported_too() -> None:
    import_files([FIXTURE])

    assert b"slug: customer" in export_files()["orders.fixture.yaml"]


def test_the_order_of_the_files_does_not_matter() -> None:
    import_files([SUITE, FIXTURE, MODEL_AGENT, JUDGE, AGENT])

    assert Suite.objects.get(slug="refunds").agent.slug == "shop"


@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_moment_leave_one_of_them_whole() -> None:
    suites = [
        SourceFile(SUITE.path, SUITE.content.replace(b"Thanks", b"Thanks %d" % number))
        for number in range(4)
    ]
    files = [[AGENT, JUDGE, FIXTURE, suite] for suite in suites]
    failures: list[BaseException] = []

    def work(mine: list[SourceFile]) -> None:
        try:
            import_files(mine)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            failures.append(exc)
        finally:
            connection.close()

    threads = [Thread(target=work, args=(mine,)) for mine in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    last = export_files(["refunds"])["refunds.suite.yaml"]
    assert last.count(b"Thanks") == 1
    assert set(outcomes(import_files([SourceFile(SUITE.path, last)])).values()) == {"unchanged"}
