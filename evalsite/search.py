"""Search over everything, in Unfold's dialog (Ctrl-K) and as a page of its own.

Unfold's own view keeps answers for minutes, whatever a person may see by then, and reads all rows
that match. Here each kind is one query with a limit.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from evals_app.admin.kit.pages import may_view
from evals_app.admin.kit.trail import list_name, url_of
from evals_app.admin.site.navigation import navigation
from evals_app.models import Agent, Case, Run, Suite
from evals_app.models.people.names import shown_name
from evalsite import help as guide
from fixtures_app.models import Entity, Fixture

MAX_FOUND = 5
MAX_LETTERS = 100
MAX_DIGITS = 18  # of a key


class SearchMatch(NamedTuple):
    """Something that matches; `inside` says where it is."""

    title: str
    inside: str
    url: str


class MatchesOfKind(NamedTuple):
    """What matches of one kind."""

    title: str
    icon: str
    found: list[SearchMatch]


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Show what matches; to the dialog the results alone."""
    words = request.GET.get("q", "").replace("\0", "").strip()[:MAX_LETTERS]
    kinds = [kind for kind in _kinds(request, words) if kind.found] if words else []
    context: dict[str, object] = {"words": words, "kinds": kinds, "title": "Search"}
    if "HX-Request" in request.headers:
        return render(request, "admin/found.html", context | {"in_dialog": True})
    return render(request, "admin/search.html", admin.site.each_context(request) | context)


def _kinds(request: HttpRequest, words: str) -> Iterator[MatchesOfKind]:
    yield MatchesOfKind("Pages", "article", list(islice(_pages(request, words), MAX_FOUND)))
    suites = Suite.objects.current()
    rows = [
        (Suite, "checklist", suites.filter(_any(words, "name", "slug", "tags")).order_by("name")),
        (
            Case,
            "forum",
            Case.objects.filter(_any(words, "name", "tags"), suite__archived_at=None)
            .select_related("suite")
            .order_by("-pk"),
        ),
        (Run, "bar_chart", _runs(words)),
        (
            Fixture,
            "dataset",
            Fixture.objects.filter(_any(words, "name", "slug")).with_namesakes().order_by("name"),
        ),
        (
            Entity,
            "dataset",
            Entity.objects.filter(_any(words, "ref", "data__name"))
            .select_related("fixture", "type")
            .order_by("ref"),
        ),
        (Agent, "smart_toy", Agent.objects.filter(_any(words, "name", "slug")).order_by("name")),
        (
            User,
            "person",
            User.objects.filter(
                _any(words, "first_name", "last_name", "username", "email")
            ).order_by("username"),
        ),
    ]
    for model, icon, matching in rows:
        if may_view(request, Fixture if model is Entity else model):
            found = [_match_of(row) for row in matching[:MAX_FOUND]]
            yield MatchesOfKind(
                "In test data" if model is Entity else list_name(model), icon, found
            )
    yield MatchesOfKind("Help", "help", list(islice(_help(words), MAX_FOUND)))


def _any(words: str, *columns: str) -> Q:
    return Q(*((f"{column}__icontains", words) for column in columns), _connector=Q.OR)


def _runs(words: str) -> QuerySet[Run]:
    """Return the runs of suites, or the one with a number: "12", "run 12"."""
    number = words.lower().removeprefix("run").strip()
    is_number = number.isascii() and number.isdecimal() and len(number) <= MAX_DIGITS
    wanted = Q(pk=int(number)) if is_number else Q(suite_name__icontains=words)
    return Run.objects.filter(wanted).defer("summary").order_by("-pk")


def _match_of(row: Model) -> SearchMatch:
    match row:
        case Entity():
            inside = f"{row.type.slug} in {row.fixture.name}"
            return SearchMatch(row.ref, inside, url_of(row.fixture))
        case Case():
            return SearchMatch(row.name, row.suite.name, url_of(row))
        case Run():
            return SearchMatch(str(row), row.covers, url_of(row))
        case User():
            return SearchMatch(shown_name(row), row.email, url_of(row))
    return SearchMatch(str(row), "", url_of(row))


def _pages(request: HttpRequest, words: str) -> Iterator[SearchMatch]:
    for group in navigation(request):
        for item in group["items"]:
            if words.lower() in item["title"].lower():
                yield SearchMatch(item["title"], group.get("title", ""), item["link"])


def _help(words: str) -> Iterator[SearchMatch]:
    """Yield pages of the guide by title, then their sections, then pages whose text matches."""
    if not any(map(str.isalnum, words)):
        return  # a sign such as % is on nearly every page
    words = words.lower()
    named = [page for page in guide.pages() if words in page.title.lower()]
    for page in named:
        yield SearchMatch(page.title, page.part, reverse("help", args=[page.slug]))
    others = [page for page in guide.pages() if page not in named]
    for page in others:
        for anchor, title in guide.content(page.slug)[1]:
            if words in title.lower():
                yield SearchMatch(
                    title, page.title, f"{reverse('help', args=[page.slug])}#{anchor}"
                )
    for page in others:
        if words in _text_of(page.slug):
            yield SearchMatch(page.title, page.part, reverse("help", args=[page.slug]))


@cache
def _text_of(slug: str) -> str:
    return (guide.DOCS / f"{slug}.md").read_text(encoding="utf-8").lower()
