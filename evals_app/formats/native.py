"""The native dialect: specs as snake_case YAML, read and written without loss."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from evals_app.engine.spec import AgentSpec, ProviderSpec
from evals_app.engine.suite import SuiteSpec
from evals_app.formats.draft import (
    Draft,
    Kind,
    Reference,
    model_references,
    suite_warnings,
    surprises,
    tool_references,
    validated,
)
from evals_app.formats.explain import allows, annotation_at
from evals_app.formats.problems import Loc, Problem
from evals_app.formats.yaml_source import Document
from evals_app.formats.yaml_text import write_yaml
from fixtures_app.spec import FixtureSpec

MODELS: dict[Kind, type[BaseModel]] = {
    "provider": ProviderSpec,
    "agent": AgentSpec,
    "fixture": FixtureSpec,
    "suite": SuiteSpec,
}

# Written even where they say what would hold without them: a reader looks for them first.
_ALWAYS = {"agent": ("driver",)}


def read_native(document: Document, kind: Kind) -> Draft:
    """Read a provider, agent, fixture or suite."""
    model = MODELS[kind]
    data = document.data
    spec, problems = validated(model, data, document)
    if spec is None and kind == "suite":
        problems += _repeated_names(document, problems)
    problems += surprises(document, model)
    if isinstance(spec, SuiteSpec):
        problems += suite_warnings(spec, document.problem)
    references = tuple(_references(kind, data)) if isinstance(data, dict) else ()
    return Draft(kind, "native", document, spec, references, tuple(problems), document.problem)


def write_native(spec: BaseModel) -> bytes:
    """Write a spec as YAML; what holds anyway is left out, the order is that of the spec."""
    kind = next(kind for kind, model in MODELS.items() if isinstance(spec, model))
    data = spec.model_dump(mode="json", exclude_defaults=True)
    whole = spec.model_dump(mode="json", include=set(_ALWAYS.get(kind, ())))
    ordered = {
        key: (data | whole)[key]
        for name, field in MODELS[kind].model_fields.items()
        if (key := field.alias or name) in data | whole
    }
    return write_yaml(_tidied(ordered, (), MODELS[kind], ordered))


def file_name(spec: BaseModel) -> str:
    """Give the name of the file that a spec is written to: refund-flow.suite.yaml."""
    kind = next(kind for kind, model in MODELS.items() if isinstance(spec, model))
    return f"{getattr(spec, 'slug')}.{kind}.yaml"  # noqa: B009 - every one of them has a slug


def _tidied(value: Any, loc: Loc, model: type[BaseModel], data: Any) -> Any:  # noqa: ANN401 - JSON
    """Write 3 for a declared 3.0; in free data the difference stays."""
    if isinstance(value, dict):
        return {key: _tidied(item, (*loc, key), model, data) for key, item in value.items()}
    if isinstance(value, list):
        return [_tidied(item, (*loc, n), model, data) for n, item in enumerate(value)]
    if isinstance(value, float) and value.is_integer():
        annotation = annotation_at(model, loc, data)
        is_number = allows(annotation, float) or allows(annotation, Decimal)
        if is_number and not allows(annotation, int):
            return int(value)
    return value


def _references(kind: Kind, data: dict[str, Any]) -> Iterator[Reference]:
    if kind == "agent":
        yield from model_references(data.get("model"), ("model",))
        tools = data.get("tools")
        for n, tool in enumerate(tools if isinstance(tools, list) else []):
            if isinstance(tool, str):
                yield Reference("tool", tool, ("tools", n))
    if kind != "suite":
        return
    if isinstance(data.get("agent"), str):
        yield Reference("agent", data["agent"], ("agent",))
    fixtures = data.get("fixtures")
    if isinstance(fixtures, str):
        yield Reference("fixture", fixtures, ("fixtures",))
    for n, fixture in enumerate(fixtures if isinstance(fixtures, list) else []):
        if isinstance(fixture, str):
            yield Reference("fixture", fixture, ("fixtures", n))
    yield from model_references(data.get("judge_model"), ("judge_model",))
    for assertion, loc in _assertions(data):
        yield from model_references(assertion.get("model"), (*loc, "model"))
        yield from tool_references(assertion, loc)


def _assertions(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Loc]]:
    """Find every assertion of a suite that may not be sound."""
    yield from _rows(data, "assertions", ())
    for case, here in _rows(data, "cases", ()):
        for turn, there in _rows(case, "turns", here):
            yield from _rows(turn, "assertions", there)
        yield from _rows(case, "final_assertions", here)


def _rows(data: dict[str, Any], key: str, loc: Loc) -> Iterator[tuple[dict[str, Any], Loc]]:
    rows = data.get(key)
    for n, row in enumerate(rows if isinstance(rows, list) else []):
        if isinstance(row, dict):
            yield row, (*loc, key, n)


def _repeated_names(document: Document, problems: list[Problem]) -> list[Problem]:
    """Find cases with the same name; pydantic looks only if everything else is right."""
    if not isinstance(document.data, dict):
        return []
    first: dict[str, int] = {}
    found = []
    for case, loc in _rows(document.data, "cases", ()):
        name, position = case.get("name"), loc[-1]
        if isinstance(name, str) and isinstance(position, int):
            known = first.setdefault(name, position)
            if known != position:
                message = f"Case {known + 1} has the same name; a case is known by its name."
                found.append(document.problem((*loc, "name"), message))
    said = {each.keys for each in problems}
    return [each for each in found if each.keys not in said]
