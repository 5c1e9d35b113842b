from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import pytest
from django.db import connection

from evals_app.models import Case, Suite
from evals_app.models.authored import suites
from fixtures_app.ground.memory import pause_collection
from tests.authored import CONTAINS, a_case, write_suite

pytestmark = pytest.mark.django_db

FINAL = {"type": "not_contains", "value": "sorry"}


def case_of_turns(name: str, turns: int) -> dict[str, Any]:
    asked = [
        {"user": f"{name} {n}", "assertions": [CONTAINS | {"name": f"{name} {n}"}]}
        for n in range(turns)
    ]
    return a_case(name, turns=asked, final_assertions=[FINAL | {"name": name}])


def test_a_whole_suite_is_what_was_written_and_costs_no_further_query(
    django_assert_num_queries: Any,
) -> None:
    cases = [case_of_turns("B", 3), case_of_turns("A", 1), a_case("unscored")]
    write_suite(cases, slug="first", assertions=[CONTAINS])
    write_suite([case_of_turns("B", 2)], slug="second")

    with django_assert_num_queries(5):
        first, second = Suite.objects.with_everything().order_by("slug")
        specs = [first.to_spec(), second.to_spec()]

    assert [case.name for case in specs[0].cases] == ["B", "A", "unscored"]
    assert [turn.user for turn in specs[0].cases[0].turns] == ["B 0", "B 1", "B 2"]
    for spec in specs:
        for case in spec.cases[: len(spec.cases) - (spec is specs[0])]:
            assert [check.name for check in case.final_assertions] == [case.name]
            assert [[check.name for check in turn.assertions or ()] for turn in case.turns] == [
                [turn.user] for turn in case.turns
            ]


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(list, id="all"),
        pytest.param(lambda rows: list(rows.iterator(chunk_size=1)), id="one by one"),
        pytest.param(lambda rows: [rows.get(slug="a"), rows.filter(slug="b").first()], id="named"),
    ],
)
def test_suites_are_whole_however_they_are_read(
    read: Callable[[Any], list[Suite]], django_assert_num_queries: Any
) -> None:
    write_suite([case_of_turns("of a", 1)], slug="a")
    write_suite([case_of_turns("of b", 2)], slug="b")

    suites = read(Suite.objects.with_everything().order_by("slug"))

    with django_assert_num_queries(0):
        specs = [suite.to_spec() for suite in suites]
    assert [spec.cases[0].name for spec in specs] == ["of a", "of b"]


def test_a_case_that_was_loaded_with_its_suite_knows_it(django_assert_num_queries: Any) -> None:
    write_suite([a_case()])
    suite = Suite.objects.with_everything().get()

    with django_assert_num_queries(0):
        (case,) = suite.cases.all()
        (turn,) = case.turns.all()
        (check,) = turn.assertions.all()

        assert (check.turn, turn.case, case.suite) == (turn, case, suite)


def test_only_a_few_cases_are_in_memory_even_if_nothing_collects_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suites, "CASES_AT_ONCE", 10)
    suite = write_suite([case_of_turns(f"case {n}", 1) for n in range(40)])
    alive: WeakSet[Case] = WeakSet()
    counts = []

    with pause_collection():
        for case in suites.cases_of([suite]):
            alive.add(case)
            counts.append(len(alive))

    assert max(counts) < 20  # ten, and the last one of each part, which the loop has kept


def test_no_suite_is_loaded_whole_either() -> None:
    assert list(Suite.objects.with_everything()) == []


def test_the_number_of_parameters_does_not_grow_with_a_suite() -> None:
    write_suite([case_of_turns(f"case {n}", 4) for n in range(50)])
    counts: list[int] = []

    def counted(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        counts.append(len(params or ()))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(counted):
        (suite,) = Suite.objects.with_everything()

    assert sum(len(case.turns.all()) for case in suite.cases.all()) == 200
    assert max(counts) <= 3  # the suite, in each part of a query


def test_archiving_keeps_the_first_moment_and_says_what_it_did() -> None:
    suite = write_suite()

    first = Suite.objects.archive()
    moment = Suite.objects.get(pk=suite.pk).archived_at
    second = Suite.objects.archive()

    assert (first, second) == (1, 0)
    assert moment is not None
    assert Suite.objects.get(pk=suite.pk).archived_at == moment
    assert not Suite.objects.current().exists()
    assert (Suite.objects.restore(), Suite.objects.restore()) == (1, 0)
    assert Suite.objects.current().get() == suite
