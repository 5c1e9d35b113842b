"""The page that shows one case in two runs."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evals_app.admin.comparing.side_by_side import replies_url, side_by_side_url
from evals_app.engine.record.trial import Trial
from evals_app.models import Run, Transcript
from tests.authored import client_who_may
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = pytest.mark.django_db

CASE = "Refund"


def run_of(trial: Trial, *, state: str = "passed", case: str = CASE, **grade: Any) -> Run:
    """Return a run of one case with this conversation and one grade."""
    run = make_run({case: [state]})
    run.executions.all().delete()
    passed = state == "passed"
    graded = make_grade(**{"passed": passed, "score": 1.0 if passed else 0.0} | grade)
    make_execution(run, case, state=state, position=0, trial=trial, grades=[graded], counts=False)
    return run


def shown(client: Client, *runs: Run, case: str = CASE, trials: tuple[int, ...] = ()) -> Any:
    response = client.get(side_by_side_url(case, runs=[run.pk for run in runs], trials=trials))
    assert response.status_code == 200
    return response


def test_what_differs_is_marked_in_words_and_not_by_colour_alone(admin_client: Client) -> None:
    base = run_of(make_trial(reply="It takes 30 days."))
    head = run_of(make_trial(reply="It takes 14 days."), state="failed")

    response = shown(admin_client, base, head)
    text = response.content.decode()

    assert "trending_down" in response.context["change"]
    assert "[only here: </span>30<span" in text
    assert "[only here: </span>14<span" in text
    assert len(response.context["grades"]) == 1
    assert response.context["same_grades"] == []


def test_below_a_case_is_what_was_said_and_of_a_judge_only_what_it_misses(
    admin_client: Client,
) -> None:
    items = [
        {"id": 1, "text": "Names the days", "verdict": "fail"},
        {"id": 2, "text": "Is polite", "verdict": "pass"},
    ]
    judged: Any = {"family": "judged", "details": {"items": items}}
    base = run_of(make_trial(reply="It takes 30 days."), **judged)
    head = run_of(make_trial(reply="It takes some days."), state="failed", **judged)

    response = admin_client.get(replies_url(CASE, runs=[base.pk, head.pk]))
    text = response.content.decode()

    assert "It takes some days." in text
    assert "only here" not in text
    assert "<mark>Names the days</mark>" in text
    assert "Is polite" not in text


def test_numbers_are_subtracted_only_where_both_are_known(admin_client: Client) -> None:
    base, head = run_of(make_trial(turns=1)), run_of(make_trial(turns=2))
    head.executions.update(agent_cost_usd="0.002")

    figures = {name: values for name, *values in shown(admin_client, base, head).context["figures"]}

    assert figures["Prompt tokens"] == ["120", "240", "+120"]
    assert figures["Agent cost"][2] == ""
    assert figures["Score"][2] == "no difference"


def test_without_a_choice_the_trials_that_differ_are_shown(admin_client: Client) -> None:
    base = make_run({CASE: ["passed", "passed"]})
    head = make_run({CASE: ["passed", "failed", "errored"]})

    def chosen(*trials: int) -> list[int]:
        sides = shown(admin_client, base, head, trials=trials).context["sides"]
        return [side.execution.trial for side in sides]

    assert chosen() == [1, 2]
    assert chosen(2, 3) == [2, 3]
    assert chosen(9, 1) == [1, 1]  # there is no ninth


def test_two_trials_of_one_run_can_be_compared(admin_client: Client) -> None:
    run = make_run({CASE: ["passed", "failed"]})

    context = shown(admin_client, run, run).context

    assert [side.label for side in context["sides"]] == [
        f"Run {run.pk}, trial 1",
        f"Run {run.pk}, trial 2",
    ]
    assert context["change"] == ""


def test_a_case_that_only_one_run_has_is_shown_alone(admin_client: Client) -> None:
    base, head = run_of(make_trial(), case="Other"), run_of(make_trial())

    response = shown(admin_client, base, head)

    assert [bool(side.execution) for side in response.context["sides"]] == [False, True]
    assert "add_circle" in response.context["change"]
    assert f"Run {base.pk} does not have this case" in response.content.decode()


@pytest.mark.parametrize("is_pruned", [True, False], ids=["removed", "of another version"])
def test_a_transcript_that_cannot_be_read_leaves_the_grades(
    admin_client: Client, *, is_pruned: bool
) -> None:
    base, head = run_of(make_trial()), run_of(make_trial(), state="failed")
    if is_pruned:
        Transcript.objects.filter(execution__run=base).delete()
        Run.objects.filter(pk=base.pk).update(pruned_at=timezone.now())
    else:
        Transcript.objects.filter(execution__run=base).update(trial={"version": 99})

    context = shown(admin_client, base, head).context
    before = context["sides"][0]

    assert (before.is_pruned, before.is_unreadable) == (is_pruned, not is_pruned)
    assert len(context["grades"]) == 1
    assert context["turns"][0].base is None


def test_turns_that_did_not_run_on_either_side_say_so(admin_client: Client) -> None:
    short = make_trial().but(planned_turns=2)

    turns = shown(admin_client, run_of(short), run_of(short)).context["turns"]

    assert [turn.has_run for turn in turns] == [True, False]


def test_a_changed_case_is_named_as_such(admin_client: Client) -> None:
    base, head = run_of(make_trial()), run_of(make_trial(), state="failed")
    for run, digest in ((base, "a"), (head, "b")):
        run.case_results.update(digest=digest)

    assert ">edit<" in shown(admin_client, base, head).context["change"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "run={0}&case=Refund",
        "run={0}&run={0}&run={0}&case=Refund",
        "run={0}&run=0&case=Refund",
        "run={0}&run=99999999999999999999999999&case=Refund",
        "run={0}&run=" + "9" * 5000 + "&case=Refund",
        "run={0}&run=x&case=Refund",
        "run={0}&run=²&case=Refund",
        "run={0}&run={0}",
        "run={0}&run={0}&case=Nothing",
    ],
)
def test_what_does_not_exist_is_not_found(admin_client: Client, query: str) -> None:
    run = run_of(make_trial())

    response = admin_client.get(f"/admin/evals_app/run/compare/case/?{query.format(run.pk)}")

    assert response.status_code == 404


@pytest.mark.parametrize(
    "trials", ["trial=x&trial=1", "trial=²&trial=-1", "trial=1&trial=" + "9" * 5000]
)
def test_unknown_trials_fall_back_to_telling_ones(admin_client: Client, trials: str) -> None:
    run = run_of(make_trial())
    url = side_by_side_url(CASE, runs=[run.pk, run.pk])

    assert admin_client.get(f"{url}&{trials}").status_code == 200


@pytest.mark.parametrize("missing", ["view_run", "view_execution"])
def test_conversations_need_both_rights(missing: str) -> None:
    run = run_of(make_trial())
    rights = {"view_run", "view_execution"} - {missing}
    url = side_by_side_url(CASE, runs=[run.pk, run.pk])

    assert client_who_may(*rights).get(url).status_code == 403


def test_an_execution_links_to_its_previous_result_side_by_side(admin_client: Client) -> None:
    base, head = make_run({CASE: ["passed"]}), make_run({CASE: ["failed"]})

    context = admin_client.get(
        f"/admin/evals_app/execution/{head.executions.get().pk}/change/"
    ).context

    assert context["previous_result"]["side_by_side"] == side_by_side_url(
        CASE, runs=[base.pk, head.pk], trials=[1, 1]
    )
