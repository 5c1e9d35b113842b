"""The way back from counts by labels: the version before has no room for their names."""

from importlib import import_module

import pytest
from django.apps import apps

from evals_app.models import Tally

pytestmark = pytest.mark.django_db


def test_only_names_that_fit_stay() -> None:
    Tally.add_all({Tally.LEASES_REAPED: 3, "executions_total{" + "x" * 40 + "}": 5})

    import_module("evals_app.migrations.0009_counters").forget_long_names(apps, None)

    assert list(Tally.objects.values_list("name", "count")) == [(Tally.LEASES_REAPED, 3)]
