"""Rows and specs: each key has a label for its form, and an untouched row has the spec's defaults."""

from functools import reduce
from operator import getitem

import pytest
from pydantic import BaseModel

from evals_app.models import Suite
from evals_app.models.authored.agents import AGENT
from evals_app.models.authored.mapping import RowMapping
from evals_app.models.authored.providers import PRICE, PROVIDER
from evals_app.models.authored.suites import ASSERTION, CASE, SUITE, TURN

MAPPINGS = [
    pytest.param(mapping, id=mapping.row.__name__)
    for mapping in (AGENT, PROVIDER, PRICE, SUITE, CASE, TURN, ASSERTION)
]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_every_key_has_a_label_for_its_form(mapping: RowMapping) -> None:
    assert {column.name for column in mapping.columns} - set(mapping.labels) == set()


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_an_untouched_row_has_the_defaults_of_its_spec(mapping: RowMapping) -> None:
    written = mapping.to_mapping(mapping.row())

    for column in mapping.columns:
        if not column.info.is_required():
            default = column.info.get_default(call_default_factory=True)
            if isinstance(default, BaseModel):
                default = default.model_dump(exclude_defaults=True)  # as JSON has it
            assert reduce(getitem, column.key, written) == default, column.name


def test_a_field_that_a_form_lacks_keeps_what_the_row_has() -> None:
    suite = Suite(name="Refunds", trials=3)

    written = SUITE.to_mapping(suite, {"name": "Returns", "min_pass_rate": 0.5})

    names = ("suite", "trials", "min_pass_rate", "concurrency")
    assert [written[name] for name in names] == ["Returns", 3, 0.5, 10]
