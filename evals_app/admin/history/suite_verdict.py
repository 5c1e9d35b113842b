"""The verdict of a suite, as lists and pages show it."""

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.admin.kit.presentation import run_badges
from evals_app.models import Run
from evals_app.runs.reading.suite_verdict import SuiteVerdict


def standing_text(standing: SuiteVerdict, *, has_links: bool = True) -> SafeString:
    """Return the verdict of a suite, and its last run if another one set the verdict."""
    lines = [_verdict(standing, has_links=has_links)]
    if standing.later is not None:
        run = _run_link(standing.later, standing.later.in_short, has_links=has_links)
        word = "Run of a part" if standing.has_parts_only else "Later"
        lines.append(format_html('<p class="quiet">{}: {}</p>', word, run))
    return format_html("<div>{}</div>", format_html_join("", "{}", ((line,) for line in lines)))


def _verdict(standing: SuiteVerdict, *, has_links: bool) -> SafeString:
    if run := standing.verdict_run:
        return _run_link(run, run_badges(run), has_links=has_links, style="bare")
    words = "Never run as a whole" if standing.has_parts_only else "Never run"
    return format_html('<p class="quiet">{}</p>', words)


def _run_link(run: Run, what: str, *, has_links: bool, style: str = "underlined") -> SafeString:
    if not has_links:
        return format_html("{}", what)
    url = reverse("admin:evals_app_run_change", args=[run.pk])
    return format_html('<a class="{}" href="{}">{}</a>', style, url, what)
