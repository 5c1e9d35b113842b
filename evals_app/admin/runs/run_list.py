"""The columns of the list of runs: each is a first line, and a quiet one below it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from unfold.decorators import display
from unfold.views import ChangeList

from evals_app.admin.kit.cells import bar_of_cases, two_lines
from evals_app.admin.kit.presentation import between, plural, run_badges
from evals_app.admin.runs.run_belonging import (
    MAX_BELOW,
    BelongingFilter,
    followers_in_words,
    runs_below,
)
from evals_app.admin.starting.run_dialog import models_url
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.models import Run
from evals_app.reports.answers.decided import share_with_people
from evals_app.reports.words.figures import UNKNOWN, counts_of, score_text
from evals_app.reports.words.shares import CASE_COUNTS
from fixtures_app.editing.markup import segment_bar
from fixtures_app.editing.times import day_heading, moment


class RunList(ChangeList):
    """A page of the list: runs by day, each followed by those that belong to it."""

    result_list: Any
    own_rows: Any  # without those that belong to them
    open_rows = ""  # selectors of rows that change

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = self.own_rows = list(self.result_list)
        _add_headings(rows)
        if BelongingFilter.parameter_name not in request.GET:
            below = runs_below(rows)
            rows = [row for run in rows for row in (run, *_children(run, below))]
        self.result_list = rows
        if not any(map(belonging_cell, rows)):
            self.list_display = [column for column in self.list_display if column != belonging_cell]
        if ids := [f"#row-{row.pk}" for row in rows if row.is_open]:
            self.open_rows = ",".join([*ids, "#live-rows"])


def _add_headings(runs: Sequence[Any]) -> None:
    """Give the first run of each day a heading."""
    shown = None
    for run in runs:
        run.day = timezone.localdate(run.created_at)
        run.heading = day_heading(run.day) if run.day != shown else ""
        shown = run.day


def _children(run: Any, below: Mapping[int, Sequence[Any]]) -> Iterator[object]:
    children = below.get(run.pk, ())
    run.children = len(children)
    for child in children:
        child.is_child, child.day = True, run.day
        yield child


@display(description="Run")
def run_cell(run: Run) -> SafeString:
    """Return the suite of a run, and below it its number, what it covered, and who was tested."""
    if hasattr(run, "is_child"):
        return two_lines(capfirst(run.covers), f"Run {run.pk}")
    below = [f"Run {run.pk}", run.covers, run.agent_name, run.model]
    return two_lines(run.suite_name, ", ".join(filter(None, below)))


@display(description="Verdict")
def verdict_cell(run: Run) -> SafeString:
    """Return the state of a run with its labels, and below it the score."""
    score = score_text(run.score, scale=run.score_scale)
    return two_lines(run_badges(run), "" if score == UNKNOWN else f"score {score}")


@display(description="Cases passed")
def cases_cell(run: Run) -> SafeString:
    """Return how the cases of a run ended, as a bar and in words; of an open run, its conversations."""
    if run.is_open:
        done, total = run.ended_count, run.total
        bar = segment_bar([("busy", done), ("none", total - done)], f"{done:,} of {total:,}")
        return two_lines(bar, f"{done:,} of {total:,} conversations done")
    share = share_with_people(vars(run), run.reviewed) if run.verdict else ""
    ended = f"{counts_of(run)} of {plural(run.total, 'conversation')}"
    has_one_each = run.total == sum(getattr(run, column) or 0 for column in CASE_COUNTS)
    return two_lines(bar_of_cases(run), share, "" if has_one_each else ended)


@display(description="Cost")
def cost_cell(run: Run) -> str:
    """Return what a run cost, or has cost so far."""
    if run.is_open:
        return f"{usd_text(run.spent_usd)} so far" if run.spent_usd else UNKNOWN
    parts = [run.judge_cost_usd] if run.grades_again else [run.agent_cost_usd, run.judge_cost_usd]
    total = total_cost(parts)
    if total is None and run.spent_usd:
        return f"at least {usd_text(run.spent_usd)}"
    return usd_text(total)


@display(description="Started")
def started_cell(run: Any) -> SafeString:
    """Return when a run started, without the day that the list says, and below it how long it took."""
    lasted = between(run.started_at, run.finished_at or timezone.now())
    at = moment(run.started_at, but_day=run.day) or "not yet"
    return two_lines(at, "" if lasted == UNKNOWN else lasted)


@display(description="Belongs to it")
def belonging_cell(run: Run) -> SafeString:
    """Return links to the runs that belong to a run and that the list does not show below it."""
    links = []
    if run.group:
        url = models_url(run.group)
        links.append(format_html('<a class="underlined" href="{}">All in one table</a>', url))
    shows_all = getattr(run, "children", MAX_BELOW) < MAX_BELOW
    if not shows_all and (followed := followers_in_words(run)):
        link = format_html('<a class="underlined" href="?which={}">{}</a>', run.pk, followed)
        links.append(link)
    return format_html_join(mark_safe("<br>"), "{}", ((link,) for link in links))
