"""The last results of suites and agents in their lists."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.authored import client_who_may
from tests.makers import make_run, make_suite

pytestmark = [pytest.mark.django_db, pytest.mark.both]

SUITES = "/admin/evals_app/suite/"
AGENTS = "/admin/evals_app/agent/"


def marks(client: Client, address: str) -> list[str]:
    """Return what a screen reader says of each mark."""
    html = client.get(address).content.decode()
    return re.findall(r'class="ew-dot [^>]*aria-label="([^"]*)"', html)


@pytest.mark.parametrize("address", [SUITES, AGENTS])
def test_lists_show_the_last_five_whole_runs_with_words(admin_client: Client, address: str) -> None:
    suite = make_suite()
    ended = timezone.now() - timedelta(days=2, hours=5)
    states = ["passed", "failed", "errored", "passed", "passed", "failed"]
    runs = [make_run([state], suite=suite, finished_at=ended) for state in states]
    make_run(["failed"], suite=suite, rerun_of=runs[0])
    make_run(["running"], suite=suite)

    words = ["failed", "inconclusive", "passed", "passed", "failed"]
    assert marks(admin_client, address) == [
        f"run {run.pk}: {word}, 2 days ago" for run, word in zip(runs[1:], words, strict=True)
    ]


def test_people_decide_what_a_mark_says(admin_client: Client) -> None:
    run = make_run(["failed"], reviewed={"verdict": "passed"})

    assert marks(admin_client, SUITES) == [f"run {run.pk}: passed, just now"]


def test_agents_show_results_only_to_people_who_may_see_runs() -> None:
    make_run(["failed"])

    assert marks(client_who_may("view_agent"), AGENTS) == []
