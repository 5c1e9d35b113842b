"""What belongs to a run: where it comes from, and the retests, re-runs and gradings that followed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.admin.kit.presentation import plural
from evals_app.admin.regrading.regrade_results import runs_made_from
from evals_app.admin.retests.retest_dialog import result_in_words, settlements_of
from evals_app.admin.starting.run_dialog import models_url, run_url
from evals_app.models import Run, Settlement
from evals_app.runs.schedules import schedule_of


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """Something that belongs to a run, with its result in words; `url` may be empty."""

    text: str
    url: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class RunRelation:
    """What belongs to a run in the same way."""

    title: str
    links: Sequence[RelatedLink]


def relations_of(request: HttpRequest, run: Run) -> dict[str, object]:
    """Return what belongs to a run, and how much followed, in short."""
    reruns, regrades = runs_made_from(run)
    settlements = settlements_of(run)
    origins = list(_origins(request, run))
    relations = [
        *origins,
        RunRelation("Retests", [_settlement(row) for row in settlements]),
        RunRelation("Re-runs", [_run(row) for row in reruns]),
        RunRelation("Graded again", [_run(row) for row in regrades]),
    ]
    counted = [
        (len(settlements), "retest", "retests"),
        (len(reruns), "re-run", "re-runs"),
        (len(regrades), "grading again", "gradings again"),
    ]
    followed = [plural(number, one, many) for number, one, many in counted if number]
    begun = [f"{origin.title.lower()} {origin.links[0].text}" for origin in origins]
    return {
        "run": run,
        "related": [relation for relation in relations if relation.links],
        "in_short": capfirst(", ".join([*begun, *followed])),
    }


def _origins(request: HttpRequest, run: Run) -> Iterator[RunRelation]:
    """Return where a run comes from and what it is compared with."""
    if run.baseline is not None:
        links = [RelatedLink(run.baseline.short_name, run_url(run.baseline))]
        if run.verdict:
            both = comparison_url([run.baseline.pk, run.pk])
            links.append(RelatedLink("the comparison", both))
        yield RunRelation("Compared with", links)
    if run.rerun_of is not None:
        yield RunRelation(
            "Re-run of", [RelatedLink(f"run {run.rerun_of_id}", run_url(run.rerun_of))]
        )
    if run.conversation_set is not None:
        address = reverse("admin:evals_app_conversationset_change", args=[run.conversation_set_id])
        yield RunRelation("Real conversations", [RelatedLink(run.conversation_set.name, address)])
    elif run.grades_of is not None:
        link = RelatedLink(f"run {run.grades_of_id}", run_url(run.grades_of))
        yield RunRelation("Grades again", [link])
    if run.settlement_id is not None:
        address = reverse("admin:evals_app_settlement_change", args=[run.settlement_id])
        yield RunRelation("Part of", [RelatedLink(f"retest {run.settlement_id}", address)])
    if run.group is not None:
        link = RelatedLink("all runs in one table", models_url(run.group))
        yield RunRelation("Started together", [link])
    if schedule := schedule_of(run):
        address = reverse("admin:evals_app_schedule_change", args=[schedule.pk])
        may_see = request.user.has_perm("evals_app.view_schedule")
        yield RunRelation("Schedule", [RelatedLink(str(schedule), address if may_see else "")])


def _settlement(settlement: Settlement) -> RelatedLink:
    names = f"run {settlement.head_id} against run {settlement.base_id}"
    address = reverse("admin:evals_app_settlement_change", args=[settlement.pk])
    return RelatedLink(names, address, result_in_words(settlement).rstrip("."))


def _run(run: Run) -> RelatedLink:
    state = run.get_status_display() if run.is_open else run.get_verdict_display()
    return RelatedLink(run.short_name, run_url(run), state.lower())
