"""How often pages ask the database; tests/benchmarks has the same limit with many rows."""

import re
from http import HTTPStatus
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.pages import MAX_QUERIES
from tests.addresses import routes, samples_for

pytestmark = pytest.mark.django_db

# These prepare or compare what a person asks for, once: files, a forecast, what to remove.
MORE = {
    "admin/evals_app/suite/export/": 17,
    "admin/evals_app/suite/<path:object_id>/export-all/": 13,
    "admin/evals_app/suite/<path:object_id>/export-struere/": 13,
    "admin/evals_app/suite/<path:object_id>/export-table/": 13,
    "admin/evals_app/suite/<int:pk>/run-size/": 27,
    "admin/evals_app/suite/remove-examples/": 29,
    "admin/evals_app/suite/<path:object_id>/delete/": 13,
    "admin/evals_app/run/<int:pk>/regrade/": 15,
}


@pytest.mark.slow
def test_no_page_takes_more_queries_than_are_allowed(admin_client: Client, settings: Any) -> None:
    samples = samples_for(settings)
    taken: dict[str, int] = {}

    for route in filter(re.compile("admin/").match, routes()):
        url = samples.url(route)
        if admin_client.get(url).status_code == HTTPStatus.OK:  # what is remembered counts once
            with CaptureQueriesContext(connection) as queries:
                admin_client.get(url)
            taken[route] = len(queries)

    assert taken.keys() >= MORE.keys()
    assert {
        route: count for route, count in taken.items() if count > MORE.get(route, MAX_QUERIES)
    } == {}
