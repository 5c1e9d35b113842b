"""Counting what belongs to the rows of a list."""

import pytest

from evals_app.models import Case, Suite
from fixtures_app.editing.counting import count_of
from tests.authored import a_case, write_suite
from tests.makers import make_suite

pytestmark = pytest.mark.django_db


def test_rows_are_counted_without_grouping_those_of_the_list() -> None:
    full = write_suite([a_case("one"), a_case("two")])
    empty = make_suite("empty")

    counted = Suite.objects.annotate(cases_here=count_of(Case.objects.all(), "suite"))

    assert dict(counted.values_list("pk", "cases_here")) == {full.pk: 2, empty.pk: 0}
    assert counted.query.group_by is None
