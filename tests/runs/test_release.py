"""May we ship? Each situation from rows, and the same sentence wherever it is asked."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from io import StringIO
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.engine.statistics.retest import Direction, Suspect, SuspectState, Trials
from evals_app.mcp.table import TOOLS
from evals_app.mcp.tool import Caller, call_tool
from evals_app.models import CaseResult, Execution, Run, Settlement, ShipDecision, Suite
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.junit import junit
from evals_app.requests.permissions import Scope
from evals_app.runs.notices import notice_of
from evals_app.runs.release import Candidate, SinceEnded, release_of, since_ended
from evals_app.runs.reporting import results_of
from tests.api.clients import make_client, make_user
from tests.authored import client_who_may
from tests.labels import judged_answer, label, make_yardstick
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db

GOOD = {"A": ["passed"] * 3, "B": ["passed"] * 3}
NOTHING = {"compared": 0, "few": 0, "hopeless": 0, "suspects": 0}  # a retest without suspects
A_FAILS = {"A": ["failed"] * 3, "B": ["passed"] * 3}


def first_run(_: Suite) -> None:
    make_run(GOOD)


def compared(head: dict[str, list[str]], base: dict[str, list[str]] | None = None) -> Run:
    """Release a version, and run the next one."""
    released = make_run(base or GOOD)
    Suite.objects.update(baseline=released)
    return make_run(head)


def all_well(_: Suite) -> None:
    compared(GOOD)


def one_worse(_: Suite) -> None:
    compared(A_FAILS)


def settled_worse(_: Suite) -> None:
    head = compared(A_FAILS)
    suspect = Suspect(
        name="A",
        direction=Direction.WORSE,
        base_before=Trials(3, 0),
        head_before=Trials(0, 3),
        base=Trials(5, 0),
        head=Trials(0, 5),
        state=SuspectState.DECIDED,
    )
    Settlement.objects.create(
        base=Run.objects.earliest("pk"),
        head=head,
        cases=[suspect.to_json()],
        compared=2,
        few=0,
        hopeless=0,
        suspects=1,
        status="finished",
        finished_at=head.finished_at,
    )


def chance(_: Suite) -> None:
    base, head = ["passed"] * 19 + ["failed"], ["passed"] * 17 + ["failed"] * 3
    compared({"A": head, "B": ["passed"]}, {"A": base, "B": ["passed"]})
    CaseResult.objects.filter(run=Run.objects.earliest("pk")).update(verdict="passed")


def a_check_swapped(_: Suite) -> None:
    failing = {"A": ["failed"], "B": ["passed"]}
    head = compared(failing, failing)
    for run, passed in ((Run.objects.earliest("pk"), 1), (head, 0)):
        checks = f'{{"x":[{passed},{1 - passed}]}}'
        CaseResult.objects.filter(run=run, name="A").update(checks=checks)


def edited_and_removed(_: Suite) -> None:
    head = compared({"A": ["passed"]}, {"A": ["passed"], "gone": ["failed"]})
    CaseResult.objects.filter(run=head).update(digest="new")
    CaseResult.objects.exclude(run=head).update(digest="old")


def not_graded(_: Suite) -> None:
    compared({"A": ["errored"], "B": ["passed"]})


def part_of_the_suite(_: Suite) -> None:
    make_run({"A": ["passed"]}, case_count=1, suite_case_count=40)


def case_added(suite: Suite) -> None:
    make_run(GOOD)
    # One that is not run, one that the run has by its name, and a new one.
    for position, (name, enabled) in enumerate({"Off": False, "A": True, "New": True}.items()):
        suite.cases.create(name=name, position=position, enabled=enabled)


def other_agent(_: Suite) -> None:
    make_run(GOOD, is_whole=False)


def slower(_: Suite) -> None:
    head = compared(GOOD)
    gate = {"name": "max_p95_increase", "limit": 0.2, "actual": 2.2, "passed": False}
    head.summary["gates"] = [gate]
    head.save()


def judge_not_trusted(_: Suite) -> None:
    head, yardstick = compared(GOOD), make_yardstick()
    labels = make_run({"Labels": ["passed"]}, is_tryout=True)
    for number in range(20):
        label(yardstick, person=True, judge=number > 4, run=labels)
    judged_answer(yardstick, run=head)


def never_run(_: Suite) -> None:
    pass


SITUATIONS: dict[Callable[[Suite], None], tuple[str, int]] = {
    never_run: ("Not yet: The suite has not been run as a whole.", 3),
    first_run: ("Yes: 2 of 2 cases passed.", 0),
    all_well: ("Yes: None of the 2 compared cases got worse.", 0),
    one_worse: ("Not yet: 1 case got worse.", 1),
    settled_worse: ("No: 1 case is really worse.", 1),
    chance: ("Yes: None of the 2 compared cases got worse.", 0),
    a_check_swapped: (
        "Not yet: 1 case has a check that passed in all trials and fails in all now.",
        1,
    ),
    edited_and_removed: ("Yes: 1 of 1 case passed.", 0),
    not_graded: ("Not yet: 1 of 2 cases was not graded.", 3),
    part_of_the_suite: ("Not yet: Only 1 of 40 cases ran.", 3),
    case_added: ("Not yet: 1 of 3 cases has not run.", 3),
    other_agent: ("Not yet: The run tested another agent or model than the one to ship.", 3),
    slower: (
        "No: 95 % of the replies may take at most 20 % longer than in the released version; it was 220 % longer.",
        1,
    ),
    judge_not_trusted: ("Not yet: The judge cannot be trusted with this.", 3),
}


def by_command(suite: Suite) -> tuple[str, int]:
    out, code = StringIO(), 0
    try:
        call_command("decide", suite.slug, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return out.getvalue().splitlines()[0].removeprefix(f"{suite.name}. "), code


def by_rest(suite: Suite) -> tuple[str, int]:
    answer = make_client("read").get(f"/api/suites/{suite.slug}/decision/").json()
    return answer["sentence"], answer["exit_code"]


def by_page(suite: Suite) -> str:
    client = Client()
    client.force_login(make_user())
    page = client.get(reverse("admin:evals_app_suite_cases", args=[suite.pk]))
    box = page.context["release"]
    assert str(escape(box.first.sentence)) in page.content.decode()
    home = client.get(reverse("admin:index"))
    if box.run is not None:
        assert str(escape(box.first.sentence)) in home.content.decode()
    if suite.baseline_id is not None:
        runs = Run.objects.filter(suite=suite, is_whole=True).exclude(pk=suite.baseline_id)
        address = comparison_url([suite.baseline_id, runs.latest("pk").pk])
        # The compared cases are on that page, so no list of them is a click away.
        assert client.get(address).context["release"].first == replace(box.first, cases_url="")
    return f"{box.word}: {box.first.sentence}"


def test_an_edited_agent_is_noted_beside_the_answer() -> None:
    suite = make_suite()
    make_run(GOOD)
    assert release_of(suite).check.notes == ()

    suite.agent.save()

    release = release_of(suite)
    assert [release.words(note).sentence for note in release.check.notes] == [
        "The agent was edited after this run."
    ]


def test_checks_that_were_lost_on_import_are_noted_beside_the_answer() -> None:
    suite = make_suite()
    make_run(GOOD, losses={"checks_lost": 2, "checks_read": 5, "parts": [], "more": 0})

    release = release_of(suite)

    assert [release.words(note) for note in release.check.notes] == [
        (
            "2 of 7 checks could not be read when the suite was imported.",
            "The answer says nothing about them.",
        )
    ]


def test_a_page_offers_no_way_to_itself(admin_client: Client) -> None:
    run = make_run(A_FAILS)
    suite_page = reverse("admin:evals_app_suite_cases", args=[run.suite_id])
    run_page = reverse("admin:evals_app_run_change", args=[run.pk])

    on_suite, on_run = (
        admin_client.get(page).context["release"].first.step for page in (suite_page, run_page)
    )

    assert (on_suite.label, on_suite.url) == ("Open the run", run_page)
    assert on_run is None


def agent_unreachable(suite: Suite) -> None:
    not_graded(suite)
    Execution.objects.filter(verdict="errored").update(cause="provider")


def none_of_a_part_passed(_: Suite) -> None:
    make_run({"A": ["failed"]}, case_count=1, suite_case_count=40)


def released_version_lost(suite: Suite) -> None:
    first_run(suite)
    gate = {"name": "max_regressions", "limit": 0, "actual": None, "passed": None}
    Run.objects.update(summary={"gates": [gate | {"name": "max_score_drop"}]})


def judge_to_compare(suite: Suite) -> None:
    make_run({"A": ["measured"]}, judge="scripted/judge")
    Suite.objects.filter(pk=suite.pk).update(min_judge_agreement=0.9)


STEPS = {
    never_run: "Run the suite",
    first_run: "Use as released version",
    released_version_lost: "Use as released version",
    one_worse: "Retest",
    settled_worse: "Read the cases",
    a_check_swapped: "Retest",
    not_graded: "Grade again",
    agent_unreachable: "Run the suite",
    part_of_the_suite: "Run the suite",
    none_of_a_part_passed: "Run the suite",
    case_added: "Run the suite",
    other_agent: "Run the suite",
    judge_not_trusted: "Look at the judge",
    judge_to_compare: "Check grades",
}


@pytest.mark.parametrize("situation", STEPS)
def test_one_click_resolves_a_reason_for_those_who_may(
    admin_client: Client, situation: Callable[[Suite], None]
) -> None:
    suite = make_suite()
    situation(suite)
    reader = client_who_may("view_run", "view_suite", "view_case")
    addresses = [reverse("admin:evals_app_suite_cases", args=[suite.pk])]
    addresses += [
        reverse("admin:evals_app_run_change", args=[run.pk])
        for run in Run.objects.filter(suite=suite, is_tryout=False).order_by("-pk")[:1]
    ]

    for address in addresses:
        page = admin_client.get(address)
        step = page.context["release"].step
        assert step.label == STEPS[situation]
        if address != addresses[0]:  # a suite without cases invites to add one
            assert page.content.decode().count("is-primary") == 1
        if not step.is_post:
            assert admin_client.get(step.url).status_code == HTTPStatus.OK
        seen = reader.get(address).context["release"].step
        assert seen is None or seen.is_way


def test_a_version_is_released_with_one_click(admin_client: Client) -> None:
    run = make_run(GOOD)
    page = admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk]))

    admin_client.post(page.context["release"].step.url, {"is_baseline": "1"})

    assert Suite.objects.get().baseline == run


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_place_gives_the_same_answer(situation: Callable[[Suite], None]) -> None:
    suite = make_suite()
    situation(suite)
    suite.refresh_from_db()

    sentence, code = SITUATIONS[situation]
    release = release_of(suite)
    reader = Caller(make_user(["evals_app.view_run"]), Scope.READ)
    by_mcp = call_tool(TOOLS, "may_we_ship", {"suite": suite.slug}, who=lambda: reader).text

    plain = release.sentence.replace("\u00a0", " ").replace(" (scripted)", "", 1)
    assert plain == sentence
    assert release.check.is_scripted is Run.objects.filter(suite=suite).exists()
    assert release.check.exit_code == code
    assert by_command(suite) == (release.sentence, code)
    assert by_rest(suite) == (release.sentence, code)
    assert by_mcp.splitlines()[0] == release.sentence
    assert by_page(suite) == release.sentence
    if release.run is not None and release.run.is_whole:
        assert notice_of(release.run, event="ended", worse=None).decision == release.sentence
        results = results_of(release.run, link=lambda kind, pk: f"{kind}/{pk}")
        junit_report, page = ("".join(write([results])) for write in (junit, html_page))
        assert f'name="decision" value={quoteattr(release.sentence)}' in junit_report
        assert str(escape(release.sentence)) in page


def test_the_newest_decision_counts_and_each_retest_once(django_assert_num_queries: Any) -> None:
    make_suite()
    base, head = make_run(GOOD), make_run(A_FAILS)
    suite = Suite.objects.get()
    for shipped in (True, False):
        ShipDecision.objects.create(suite=suite, run=head, run_number=head.pk, shipped=shipped)
    retests = [
        Settlement.objects.create(
            base=base, head=head, **NOTHING, status=status, finished_at=head.finished_at
        )
        for status in ("stopped", "cancelled", "finished")
    ]

    with django_assert_num_queries(1):
        found = since_ended([Candidate(suite, head, base), Candidate(suite, base, None)])

    assert found[base.pk] == SinceEnded(None, ())
    assert found[head.pk].decision == ShipDecision.objects.latest("pk")
    assert list(found[head.pk].retests) == [retests[0], retests[2]]


def test_a_case_that_got_worse_is_graver_than_one_that_has_not_run() -> None:
    suite = make_suite()
    one_worse(suite)
    suite.cases.create(name="New", position=0)
    suite.refresh_from_db()

    check = release_of(suite).check

    assert [reason.kind for reason in check.reasons] == ["worse", "not_run"]
    assert check.exit_code == 1
