"""The baseline of a suite, on its page and on those of its runs."""

from dataclasses import asdict
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.engine.verdicts.gates import GateResult
from evals_app.library.baselines import set_baseline, unset_baseline
from evals_app.models import Run, Suite
from evals_app.runs.reporting import report
from tests.admin.run_pages import page_of, url
from tests.authored import client_who_may
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


def mark(client: Client, run: Run, *, is_baseline: bool) -> str:
    """Press the button of a run's page, and return the page that follows."""
    data = {"is_baseline": "1" if is_baseline else "0"}
    response = client.post(url(run, "baseline"), data, follow=True)
    assert response.redirect_chain == [(page_of(run), 302)]
    return response.content.decode()


def suite_page(suite: Suite) -> str:
    return reverse("admin:evals_app_suite_change", args=[suite.pk])


def test_a_run_is_made_the_baseline_and_no_longer(admin_client: Client) -> None:
    run = make_run(["passed", "failed"])
    assert "Use as released version" in admin_client.get(page_of(run)).content.decode()

    page = mark(admin_client, run, is_baseline=True)

    assert Suite.objects.get().baseline == run
    assert "Stop using as released version" in page
    assert "kept while this run is the released version" in page

    page = mark(admin_client, run, is_baseline=False)

    assert Suite.objects.get().baseline is None
    assert "Use as released version" in page
    assert LogEntry.objects.filter(user__username="admin").count() == 2


@pytest.mark.parametrize(
    ("states", "changes", "is_offered"),
    [
        pytest.param(["passed", "failed"], {}, True, id="whole"),
        pytest.param(["failed"], {}, False, id="nothing passed"),
        pytest.param(["passed"], {"case_count": 1, "suite_case_count": 9}, False, id="part"),
        pytest.param(["passed", "running"], {}, False, id="running"),
    ],
)
def test_only_a_run_with_every_case_is_offered_as_baseline(
    admin_client: Client, states: list[str], changes: dict[str, Any], *, is_offered: bool
) -> None:
    run = make_run(states, **changes)

    assert (url(run, "baseline") in admin_client.get(page_of(run)).content.decode()) is is_offered

    if not is_offered:
        assert "cannot be the released version" in mark(admin_client, run, is_baseline=True)
        assert Suite.objects.get().baseline is None


def test_who_may_only_read_runs_changes_no_baseline() -> None:
    run = make_run()
    reader = client_who_may("view_run")

    assert url(run, "baseline") not in reader.get(page_of(run)).content.decode()
    assert reader.post(url(run, "baseline"), {"is_baseline": "1"}).status_code == 403
    assert Suite.objects.get().baseline is None


def test_looking_at_the_address_changes_nothing(admin_client: Client) -> None:
    assert admin_client.get(url(make_run(), "baseline")).status_code == 405


def test_a_run_leads_to_the_run_that_it_was_compared_with(admin_client: Client) -> None:
    base = make_run()

    html = admin_client.get(url(make_run(baseline=base), "related")).content.decode()

    assert f'<a href="{page_of(base)}">run {base.pk}</a>' in html
    assert "/run/compare/" in html


def test_the_page_of_a_suite_leads_to_its_baseline(admin_client: Client) -> None:
    suite = make_suite(max_regressions=0)
    run = make_run(suite=suite)
    assert admin_client.get(suite_page(suite)).context["lacks_baseline"]

    set_baseline(run)
    response = admin_client.get(suite_page(suite))

    assert response.context["baseline"] == run
    assert f'href="{page_of(run)}">{run.in_short}</a>' in response.content.decode()


def test_a_suite_without_such_gates_needs_no_baseline(admin_client: Client) -> None:
    assert not admin_client.get(suite_page(make_suite())).context["lacks_baseline"]


def test_an_archived_suite_keeps_its_baseline(admin_client: Client) -> None:
    suite = make_suite()
    run = make_run(suite=suite)
    set_baseline(run)

    Suite.objects.all().archive()
    Suite.objects.all().restore()

    assert Suite.objects.get().baseline == run


def first_run(suite: Suite) -> Run:
    """Write a run whose gate had nothing to compare with."""
    run = make_run(suite=suite)
    gate = GateResult(
        "max_regressions", 0, None, None, "Nothing to compare with.", is_applied=False
    )
    run.summary |= {"gates": [asdict(gate)]}
    run.save()
    return run


def no_link(_model: str, _pk: int) -> str:
    return ""


def test_a_gate_that_is_not_applied_is_called_so_wherever_gates_are_shown(
    admin_client: Client,
) -> None:
    run = first_run(make_suite(max_regressions=0))

    page = admin_client.get(page_of(run)).content.decode()
    html, markdown, junit = (
        b"".join(made.content).decode()
        for made in (
            report("html", run, link=no_link),
            report("markdown", run, link=no_link),
            report("junit", run, link=no_link),
        )
    )

    assert "1 not applied" in page
    for text in (page, html, markdown):
        assert "not applied" in text.lower()
        assert "every gate was met" not in text
    assert "<skipped" in junit


@pytest.mark.parametrize(("was_there", "words"), [(False, "do not apply"), (True, "undecided")])
def test_the_page_of_a_suite_says_what_a_missing_baseline_means(
    admin_client: Client, words: str, *, was_there: bool
) -> None:
    suite = make_suite(max_regressions=0)
    run = make_run(suite=suite)
    if was_there:
        set_baseline(run)
        unset_baseline(run)

    assert words in admin_client.get(suite_page(suite)).content.decode()
