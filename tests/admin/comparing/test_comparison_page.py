"""The page that compares runs, and the ways to it."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evals_app.admin.comparing.comparison_cases import MAX_OF_A_GROUP
from evals_app.admin.comparing.comparison_page import PER_PAGE
from evals_app.admin.comparing.side_by_side import comparison_url, side_by_side_url
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.statistics.retest import Direction, Suspect, SuspectState, Trials
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import CaseResult, Run, Settlement, Snapshot
from tests.authored import client_who_may
from tests.makers import make_run, make_snapshot, make_suite

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/run/"
BASE = {
    "a": ["passed"],
    "b": ["passed"],
    "c": ["failed"],
    "d": ["failed", "passed", "failed"],
    "e": ["passed"],
}
HEAD = {"a": ["failed"], "b": ["passed"], "c": ["passed"], "d": ["passed"] * 3, "f": ["passed"]}


def shown(client: Client, *runs: Run, **more: str) -> Any:
    response = client.get(comparison_url([run.pk for run in runs], **more))
    assert response.status_code == 200
    return response


def names(context: Any) -> list[str]:
    return [row.name for group in context["groups"] for row in group.rows]


def counts(context: Any) -> dict[str, int]:
    return {group.key: group.count for group in context["groups"]}


def test_a_renamed_case_is_shown_with_both_names_and_both_conversations(
    admin_client: Client,
) -> None:
    base, head = make_run({"Refunds": ["passed"]}), make_run({"Money back": ["failed"]})
    CaseResult.objects.filter(run__in=(base, head)).update(digest="content")

    page = shown(admin_client, base, head)
    (group,) = page.context["groups"]
    (row,) = group.rows
    sides = admin_client.get(row.replies_url).context["sides"]

    assert "Renamed; it was “Refunds”" in page.content.decode()
    assert [side.execution.case for side in sides] == ["Refunds", "Money back"]
    assert [side.share for side in (row.base, row.head)] == ["1 of 1", "0 of 1"]


def test_what_got_worse_comes_first_with_its_conversations(admin_client: Client) -> None:
    base, head = make_run(BASE), make_run(HEAD)

    response = shown(admin_client, base, head)
    context = response.context
    (line,) = context["heads"]

    assert line.tone == "warn"  # too few cases for the whole suite
    assert names(context) == ["a", "d", "c", "f", "e"]  # those that are the same are folded
    assert list(counts(context).items()) == [
        *(("worse", 1), ("flaky", 1), ("better", 1), ("new", 1), ("missing", 1), ("same", 1)),
    ]
    row, text = context["groups"][0].rows[0], response.content.decode()
    assert row.head.marks[0].url == side_by_side_url("a", runs=[base.pk, head.pk], trials=[0, 1])
    for url in (row.replies_url, row.head.marks[0].url):
        assert url.replace("&", "&amp;") in text
    trials = [mark.tone for mark in context["groups"][1].rows[0].base.marks]
    assert trials == ["bad", "good", "bad"]
    assert context["groups"][-1].note == "1 passed in both"


def test_what_a_retest_found_stands_at_its_case(admin_client: Client) -> None:
    base, head = (
        make_run({"a": ["passed"], "b": ["passed"]}),
        make_run({"a": ["failed"], "b": ["failed"]}),
    )
    suspect = Suspect(
        name="a",
        direction=Direction.WORSE,
        base_before=Trials(passed=1),
        head_before=Trials(failed=1),
        base=Trials(passed=5),
        head=Trials(failed=5),
        state=SuspectState.DECIDED,
    )
    Settlement.objects.create(
        base=base,
        head=head,
        cases=[suspect.to_json()],
        compared=2,
        few=2,
        hopeless=0,
        suspects=1,
        status=Settlement.Status.FINISHED,
        finished_at=timezone.now(),
    )

    really, worse = shown(admin_client, base, head).context["groups"]

    assert [(group.key, group.rows[0].name) for group in (really, worse)] == [
        ("really_worse", "a"),
        ("worse", "b"),
    ]
    assert really.rows[0].reason.startswith("Retest: 5 of 5, now 0 of 5.")


def test_many_cases_of_a_kind_are_a_click_away(admin_client: Client) -> None:
    number = MAX_OF_A_GROUP + 1
    base, head = (
        make_run({f"case {n}": [state] for n in range(number)}) for state in ("passed", "failed")
    )

    (group,) = shown(admin_client, base, head).context["groups"]
    (whole,) = admin_client.get(group.all_url).context["groups"]

    assert (group.count, len(group.rows), len(whole.rows)) == (number, MAX_OF_A_GROUP, number)
    assert whole.all_url == ""


def test_cases_are_filtered_by_change_and_by_part_of_their_name(admin_client: Client) -> None:
    base = make_run({"Refund late": ["passed"], "Refund": ["passed"], "Other": ["passed"]})
    head = make_run({"Refund late": ["failed"], "Refund": ["passed"], "Other": ["failed"]})

    def found(**more: str) -> list[str]:
        return names(shown(admin_client, base, head, **more).context)

    assert found(change="worse", case="refund") == ["Refund late"]
    assert found(change="same") == ["Refund"]
    assert found(change="nonsense", case="  ") == found()
    assert found(case="nothing like it") == []
    assert counts(shown(admin_client, base, head, case="refund").context) == {"worse": 1, "same": 1}


def test_cases_come_page_by_page_and_an_unknown_page_is_the_nearest(admin_client: Client) -> None:
    cases = {f"case {number:03}": ["passed"] for number in range(PER_PAGE + 5)}
    base, head = make_run(cases), make_run(cases)

    pages = [
        len(names(shown(admin_client, base, head, change="same", page=page).context))
        for page in ("", "1", "2", "99", "x", "-1")
    ]

    assert pages == [PER_PAGE, PER_PAGE, 5, 5, PER_PAGE, 5]


def test_the_numbers_of_all_runs_are_next_to_each_other_and_any_can_be_the_base(
    admin_client: Client,
) -> None:
    runs = [make_run(BASE, model=f"acme/{name}") for name in ("one", "two", "three")]

    context = shown(admin_client, *runs).context
    numbers = {row.label: row.values for row in context["numbers"]}

    assert numbers["Model"] == ("acme/one", "acme/two", "acme/three")
    assert len(numbers["Cases passed"]) == 3
    assert "Agent" not in numbers  # it is the same in all
    third = context["columns"][2]
    assert third.as_base == comparison_url([runs[2].pk, runs[0].pk, runs[1].pk])
    assert [cell.label for cell in context["cases"][0].cells] == [f"Run {run.pk}" for run in runs]


def snapshot_of(*, prompt: str, threshold: float) -> Snapshot:
    agent = {"agent": "Shop", "slug": "shop", "model": "local/small", "system_prompt": prompt}
    suite = {"suite": "S", "slug": "s", "agent": "shop", "cases": [], "pass_threshold": threshold}
    spec = SnapshotSpec(
        suite=SuiteSpec.model_validate(suite),
        agent=AgentSpec.model_validate(agent),
        fixtures=[],
        providers=[],
    )
    return make_snapshot(**spec.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def test_what_measures_differently_is_named_value_by_value(admin_client: Client) -> None:
    base = make_run(BASE, snapshot=snapshot_of(prompt="Be kind.", threshold=0.5))
    head = make_run(BASE, snapshot=snapshot_of(prompt="Be brief.", threshold=0.9))

    response = shown(admin_client, base, head)
    (line,) = response.context["heads"]

    assert [part.title for part in line.tested] == ["Agent"]
    (place,) = line.tested[0].places
    assert (place.before, place.after) == ('"Be kind."', '"Be brief."')
    (yardstick,) = line.judged_criteria
    assert "pass threshold" in yardstick.places[0].where
    assert "pass threshold" in response.content.decode()


def test_prompts_are_shown_only_to_who_may_see_them_elsewhere() -> None:
    base = make_run(BASE, snapshot=snapshot_of(prompt="Be kind.", threshold=0.5))
    head = make_run(BASE, snapshot=snapshot_of(prompt="Be brief.", threshold=0.9))

    response = shown(client_who_may("view_run", "view_suite"), base, head)

    (line,) = response.context["heads"]
    assert [(part.title, part.places, part.more) for part in line.tested] == [("Agent", (), 1)]
    assert "Be brief." not in response.content.decode()


@pytest.mark.parametrize("rights", [["view_run", "add_run"], ["view_run"]], ids=len)
def test_who_may_start_runs_is_offered_to_settle_what_differs(rights: list[str]) -> None:
    base, head = make_run(BASE), make_run(HEAD)
    url = f"{reverse('admin:evals_app_settlement_start', args=[head.pk])}?base={base.pk}"

    text = shown(client_who_may(*rights), base, head).content.decode()

    assert (url in text) is ("add_run" in rights)


def test_the_charts_show_the_numbers_of_the_tables_behind_them(admin_client: Client) -> None:
    base = make_run({"a": ["passed"], "b": ["failed"]}, agent_cost_usd="0.5", judge_cost_usd="0.25")
    head = make_run({"a": ["passed"], "b": ["passed"]}, agent_cost_usd="1", judge_cost_usd="0")

    context = shown(admin_client, base, head).context
    scores, costs = context["scores"], context["costs"]

    lines = json.loads(scores.chart.data)["datasets"]
    assert [line["data"][-1] for line in lines] == [50.0, 100.0]
    assert scores.rows[-1] == ("0.90 to 1.00", "1", "2")
    assert scores.rows[2] == ("0.20 to 0.30", "1", "0")
    points = json.loads(costs.chart.data)["datasets"]
    assert [point["data"] for point in points] == [
        [{"x": 0.75, "y": 50.0}],
        [{"x": 1.0, "y": 100.0}],
    ]
    assert points[0]["pointStyle"] != points[1]["pointStyle"]
    assert [row[0] for row in costs.rows] == [f"Run {base.pk}", f"Run {head.pk}"]


def test_without_known_costs_there_is_no_chart_of_them(admin_client: Client) -> None:
    base, head = make_run(BASE, agent_cost_usd="0.5", judge_cost_usd="0"), make_run(HEAD)

    assert shown(admin_client, base, head).context["costs"] is None


@pytest.mark.parametrize(
    "query",
    ["", "run={0}", "run={0}&run={0}", "run={0}&run=0", "run={0}&run=x", "run={0}&run=²"]
    + ["run={0}&run=" + "9" * length for length in (19, 30, 5000)],
)
def test_runs_that_cannot_be_compared_lead_back_with_a_reason(
    admin_client: Client, query: str
) -> None:
    run = make_run(["passed"])

    response = admin_client.get(f"{LIST}compare/?{query.format(run.pk)}", follow=True)

    assert response.redirect_chain == [(LIST, 302)]
    assert len(response.context["messages"]) == 1


def test_who_may_not_read_conversations_gets_no_links_to_them() -> None:
    base, head = make_run(BASE), make_run(HEAD)

    text = shown(client_who_may("view_run"), base, head).content.decode()

    assert reverse("admin:evals_app_run_side_by_side") not in text


# The ways to it


def test_ticked_runs_are_compared_with_the_oldest_of_them(admin_client: Client) -> None:
    runs = [make_run(["passed"]) for _ in range(3)]
    ticked = [str(run.pk) for run in reversed(runs[:2])]

    response = admin_client.post(LIST, {"action": "compare_chosen", "_selected_action": ticked})

    assert response.headers["Location"] == comparison_url([runs[0].pk, runs[1].pk])


def choices_of(client: Client, run: Run) -> list[tuple[int, str, bool]]:
    context = client.get(reverse("admin:evals_app_run_choose", args=[run.pk])).context
    return [(choice.run.pk, choice.note, choice.is_chosen) for choice in context["choices"]]


def test_a_run_is_compared_with_the_baseline_else_the_previous_whole_run(
    admin_client: Client,
) -> None:
    suite = make_suite("refunds")
    first, whole, part = (
        make_run(["passed"], suite=suite, is_whole=is_whole) for is_whole in (True, True, False)
    )
    run = make_run(["passed"], suite=suite)
    make_run(["queued"], suite=suite)
    make_run(["passed"], suite=make_suite("other"))

    assert choices_of(admin_client, run) == [
        (part.pk, "", False),
        (whole.pk, "previous full run", True),
        (first.pk, "", False),
    ]
    suite.baseline = first
    suite.save()
    assert [choice for choice in choices_of(admin_client, run) if choice[2]] == [
        (first.pk, "released version of the suite", True)
    ]


def test_the_only_run_of_a_suite_has_nothing_to_be_compared_with(admin_client: Client) -> None:
    run = make_run(["passed"])

    assert choices_of(admin_client, run) == []


# Its price


@pytest.mark.parametrize(
    ("before", "after", "tone"),
    [
        ("passed", "failed", "bad"),
        ("failed", "passed", "good"),
        ("passed", "passed", "calm"),
        ("passed", "errored", "calm"),
    ],
)
def test_the_suite_as_a_whole_has_a_verdict_and_a_next_step(
    admin_client: Client, before: str, after: str, tone: str
) -> None:
    runs = [make_run([verdict] * 12) for verdict in (before, after)]

    (line,) = shown(admin_client, *runs).context["heads"]

    assert line.tone == tone
    assert line.advice
