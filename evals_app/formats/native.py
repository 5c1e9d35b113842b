"""The native dialect: specs as snake_case YAML, read and written without loss."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel

from evals_app.engine.specs.agent_spec import CommandAgent
from evals_app.formats.dialect import Dialect
from evals_app.formats.foreign.draft import (
    MODELS,
    Draft,
    Kind,
    make_draft,
    repeated_names,
    surprises,
)
from evals_app.formats.foreign.prompt_variables import with_plain_variables
from evals_app.formats.reading.explain import allows, annotation_at
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, Problem
from evals_app.formats.reading.yaml_text import write_yaml

DIALECT = Dialect(
    name="native",
    title="Our own YAML",
    page="files",
    about=(
        "One file for each suite, agent, provider and set of test data. It can express everything, and "
        "exports are written in it."
    ),
    sample=(
        (
            "shop.agent.yaml",
            """\
agent: Shop assistant
slug: shop
model: anthropic/claude-haiku-5-5
system_prompt: You answer questions about orders.
""",
        ),
        (
            "refunds.suite.yaml",
            """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns:
      - user: I want my money back.
        assertions:
          - {type: contains, value: refund}
""",
        ),
    ),
    files=tuple(
        f"*.{kind}.{end}"
        for end in ("yaml", "yml")
        for kind in ("suite", "agent", "fixture", "provider")
    ),
)
# Written even if they are the defaults, because readers look for them first.
_ALWAYS = {"agent": ("driver",)}
# Texts of authors that come from other systems as they are.
_PROMPTS: dict[Kind, Literal["system_prompt", "judge_context"]] = {
    "agent": "system_prompt",
    "suite": "judge_context",
}


def read_native(document: ParsedFile, kind: Kind) -> Draft:
    """Read a provider, agent, fixture or suite."""
    data, lost = document.data, list[Problem]()
    if key := _PROMPTS.get(kind):
        data, lost = with_plain_variables(data, key, document.problem)
    draft = make_draft(kind, "native", document, data)
    problems = [*draft.problems, *lost, *surprises(document, MODELS[kind])]
    if isinstance(draft.spec, CommandAgent):
        problems += _relative_words(draft.spec, document)
    if draft.spec is None and kind == "suite":
        problems += repeated_names(document, problems)
    return replace(draft, problems=tuple(problems))


def _relative_words(agent: CommandAgent, document: ParsedFile) -> Iterator[Problem]:
    """Warn of paths in a command line that look as if they began in the folder of the file."""
    for n, word in enumerate(agent.command):
        if word.startswith(("./", "../")):
            message = (
                f"Programs start in Evalwell's own folder, so {word} is expected there, not "
                "next to this file. Write its full path if it is somewhere else."
            )
            yield document.problem(("command", n), message, level="warning")


def write_native(spec: BaseModel) -> bytes:
    """Write a spec as YAML; defaults are omitted, and keys keep the order of the spec."""
    kind = next(kind for kind, model in MODELS.items() if isinstance(spec, model))
    data = spec.model_dump(mode="json", exclude_defaults=True)
    whole = spec.model_dump(mode="json", include=set(_ALWAYS.get(kind, ())))
    ordered = {
        key: (data | whole)[key]
        for name, field in type(spec).model_fields.items()
        if (key := field.alias or name) in data | whole
    }
    return write_yaml(_tidy_number(ordered, (), type(spec), ordered))


def file_name(spec: BaseModel) -> str:
    """Return the name of the file that a spec is written to: refund-flow.suite.yaml."""
    kind = next(kind for kind, model in MODELS.items() if isinstance(spec, model))
    return f"{getattr(spec, 'slug')}.{kind}.yaml"  # noqa: B009 - every one of them has a slug


def _tidy_number(value: object, loc: Loc, model: type[BaseModel], data: object) -> object:
    """Write 3 for a declared 3.0; in free data the difference stays."""
    if isinstance(value, dict):
        return {key: _tidy_number(item, (*loc, key), model, data) for key, item in value.items()}
    if isinstance(value, list):
        return [_tidy_number(item, (*loc, n), model, data) for n, item in enumerate(value)]
    if isinstance(value, float) and value.is_integer():
        annotation = annotation_at(model, loc, data)
        is_number = allows(annotation, float) or allows(annotation, Decimal)
        if is_number and not allows(annotation, int):
            return int(value)
    return value
