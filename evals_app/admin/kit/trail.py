"""Where a page is: the links that lead to it from one of the places of the menu."""

from collections.abc import Iterator

from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from evals_app.admin.kit.pages import list_url, may_view
from evals_app.models import Case, Execution, Run, Settlement, Suite
from evals_app.models.people.names import shown_name

Link = tuple[str, str]  # title; address, empty if the person may not open it


def trail_of_page(context: Context) -> SafeString:
    """Return the links that lead to a page, and last its own title, without a link."""
    *links, (title, _) = _parts(context)
    items = format_html_join(
        "",
        "<li>{}</li>",
        ((format_html('<a href="{}">{}</a>', url, name) if url else name,) for name, url in links),
    )
    return format_html(
        '<nav class="ew-trail" aria-label="You are here"><ol>{}<li><h1 aria-current="page">{}</h1></li></ol></nav>',
        *(items, title),
    )


def title_of_page(context: Context) -> str:
    """Return the title of a page for the browser: its own, and that of the page above it."""
    return " | ".join(name for name, _ in _parts(context)[:-3:-1])


def list_name(model: type[Model]) -> str:
    """Return what the list of a model's rows is called, in the menu and above its pages."""
    return "Results" if model is Run else capfirst(str(model._meta.verbose_name_plural))  # noqa: SLF001 - documented


def _parts(context: Context) -> list[Link]:
    """Return the links to a page and its title.

    Pages of our own say where they are in `page_context`, those of Django by the row that they show.
    """
    request: HttpRequest = context["request"]
    row = context.get("page_of") or context.get("original") or context.get("object")
    if "above" in context:
        links = list(context["above"])
    elif isinstance(row, Model):
        links = list(_links(request, row))
    elif opts := context.get("opts"):
        links = [_list_link(request, opts.model)]
    else:
        links = [("Home", home)] if request.path == (home := reverse("admin:index")) else []
    if links and links[-1][1] == request.path:
        return links
    return [*links, (capfirst(str(context.get("title") or "")), "")]


def _links(request: HttpRequest, row: Model) -> Iterator[Link]:
    above = _above(row)
    if above is None or isinstance(row, Run):
        yield _list_link(request, type(row))
    if above is not None:
        yield from list(_links(request, above))[isinstance(row, Run) :]
    yield _name(row), url_of(row) if may_view(request, type(row)) else ""


def _above(row: Model) -> Model | None:
    match row:
        case Case() | Run():
            return row.suite
        case Execution():
            return row.run
        case Settlement():
            return row.head
    return None


def _name(row: Model) -> str:
    match row:
        case Run():
            return f"Run {row.pk}"
        case Settlement():
            return f"Retest {row.pk}"
        case User():
            return shown_name(row)
    return str(row)


def _list_link(request: HttpRequest, model: type[Model]) -> Link:
    return list_name(model), list_url(model) if may_view(request, model) else ""


def url_of(row: Model) -> str:
    """Return the address of the page of a row."""
    options = row._meta  # noqa: SLF001 - documented
    page = "cases" if isinstance(row, Suite) else "change"
    return reverse(f"admin:{options.app_label}_{options.model_name}_{page}", args=[row.pk])
