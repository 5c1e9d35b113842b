"""Start a new case from a template: its page opens filled in, and nothing is stored until it is saved."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.case_templates import TEMPLATES, CaseTemplate
from evals_app.models import Assertion, Case, Suite, Turn
from fixtures_app.editing.rows import prefill, read_position


@dataclass(frozen=True, slots=True)
class CaseStart:
    """A way to start a case, as a link on the page of a new one."""

    title: str
    about: str
    query: str
    is_chosen: bool


def starts(request: HttpRequest) -> list[CaseStart]:
    """Return the templates to choose from, an empty case first."""
    chosen = request.GET.get("template", "")
    ways = [("", "Blank", "An empty conversation")]
    ways += [(slug, template.title, template.about) for slug, template in TEMPLATES.items()]
    links = []
    for slug, title, about in ways:
        query = request.GET.copy()
        query["template"] = slug
        links.append(CaseStart(title, about, query.urlencode(), slug == chosen))
    return links


def chosen_template(request: HttpRequest) -> CaseTemplate | None:
    """Return the template that a new page starts with; None: an empty case."""
    return TEMPLATES.get(request.GET.get("template", "")) if request.method == "GET" else None


def fill_in(case: Case, request: HttpRequest) -> None:
    """Give a new case the turns and checks of the chosen template, for the agent of its suite."""
    template = chosen_template(request)
    if template is None:
        return
    key = read_position(request.GET.get("suite"))
    suite = Suite.objects.select_related("agent").filter(pk=key).first()
    spec = template.fill(None if suite is None else suite.agent.abilities.tools)
    turns = []
    for position, turn in enumerate(spec.turns):
        row = Turn(position=position, **Turn.columns_of(turn))
        prefill(row, list(_checks(turn.assertions or ())))
        turns.append(row)
    prefill(case, [*turns, *_checks(spec.final_assertions)])


def _checks(specs: Iterable[AssertionSpec]) -> Iterable[Assertion]:
    for position, spec in enumerate(specs):
        yield Assertion(position=position, **Assertion.columns_of(spec))
