"""Starter files: valid as written, with every section explained and optional ones commented out."""

import os
from pathlib import Path

from django.core.management.base import BaseCommand
from django.db import OperationalError, ProgrammingError
from pydantic import TypeAdapter, ValidationError

from evals_app import COMMAND
from evals_app.engine.specs.base_spec import Slug
from evals_app.formats.foreign.shapes import slug_of
from evals_app.formats.reading.yaml_text import write_yaml
from evals_app.management import usage_error
from evals_app.management.schemas import FOLDER, schema_line, write_schemas
from evals_app.models import Agent, Suite
from fixtures_app.ground.spec_errors import message_of
from fixtures_app.models import Fixture

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)

_SUITE = """\
# A suite: conversations with one agent, and what must be true of its answers.
# What follows a # is explained to you, or switched off: take the # away to use it.
#
#   {command} import_evals FILE --dry-run    checks this file and changes nothing
#   {command} import_evals FILE              brings it to the site; do so after each edit
#   {command} run_evals SLUG                 runs the conversations

# Its name for people; its name in commands and addresses, which stays; the agent's slug.
{head}
description: What these cases are about.

# A run can ask for a tag: run_evals --tag smoke
tags: [smoke]

# Data that the agent's tools find and change, by slug; new_fixture begins one. Each conversation
# works on a copy of its own.
# fixtures: [shop-data]

# How often each case runs. Models vary: several trials show how consistent the agent is.
trials: 1

# Checks for every turn that has none of its own.
# assertions:
#   - {{type: not_contains, value: as an AI}}

# What a full run must reach, besides its cases.
# gates:
#   max_p95_ms: 8000
#   max_cost_usd: 0.50

cases:
  # A case is one conversation. It is known by its name: renamed, it is another case.
  - name: Says hello
    turns:
      # The user message, and what must be true of the reply.
      - user: Hello!
        assertions:
          - type: matches
            value: '\\b(hello|hi|welcome)\\b'

  - name: Remembers what was said
    turns:
      # An empty list: nothing is checked after this turn.
      - user: My name is Ada.
        assertions: []
      - user: What is my name?
        assertions:
          - {{type: contains, value: Ada, whole_words: true}}
          # Was a tool called, with these arguments among others?
          # - {{type: tool_called, value: entity.query, args: {{type: example-order}}}}
    # Checks of the whole conversation, at its end. A judge is a model, so it needs a key.
    # final_assertions:
    #   - {{type: llm_judge, criteria: The agent is polite throughout.}}
    # Limits of this case; what goes beyond one fails.
    # limits: {{max_time_ms: 20000, max_tool_calls: 3}}
"""

_FIXTURE = """\
# Test data: what an agent's tools find and change. Each conversation works on a copy of its
# own, so nothing has to be put back afterwards.
#
#   {command} import_evals FILE    brings it to the site; do so after each edit
#
# A suite uses it by its slug: fixtures: [SLUG]

# Its name for people, and its name in suites.
{head}
description: What this data is about.

# Kinds of things, and the data that each may have, as JSON Schema; {{}} allows anything. They belong
# to the whole site: all test data shares them.
entity_types:
  - slug: example-customer
    schema: {{}}
  - slug: example-order
    schema:
      type: object
      properties:
        total: {{type: number}}
      required: [total]

# The things themselves. Under its ref the agent finds one, and relations name it.
entities:
  - ref: ada
    type: example-customer
    data: {{name: Ada}}
  - ref: order-1
    type: example-order
    data: {{total: 12.50}}
    # active unless something else is written here
    # status: closed

# What belongs together.
relations:
  - {{from: order-1, to: ada, type: ordered_by}}

# Texts that knowledge.search finds.
chunks:
  - id: returns
    text: Orders can be sent back within 30 days.
    source: handbook
"""


def suite_starter(slug: str, *, agent: str) -> str:
    """Return a suite with two cases that any assistant should pass.

    Raises:
        CommandError: one of the slugs is not valid.
    """
    _check_slug(slug)
    _check_slug(agent)
    return schema_line("suite") + _SUITE.format(
        command=COMMAND, head=_head(suite=_title(slug), slug=slug, agent=agent)
    )


def fixture_starter(slug: str) -> str:
    """Return a fixture with two entities that belong together, and a text.

    Raises:
        CommandError: the slug is not valid.
    """
    _check_slug(slug)
    return schema_line("fixture") + _FIXTURE.format(
        command=COMMAND, head=_head(name=_title(slug), slug=slug)
    )


def _title(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").capitalize()


def _head(**keys: object) -> str:
    # Written as YAML: a slug like 2024 or no is put in quotes.
    return write_yaml(keys).decode().rstrip()


def _check_slug(slug: str) -> None:
    try:
        _SLUG.validate_python(slug)
    except ValidationError as error:
        problem = error.errors()[0]
        is_of_ours = problem["type"] == "value_error"
        reason = message_of(problem) if is_of_ours else "It has 1 to 100 characters."
        near = slug_of(slug, instead="")
        hint = f" Did you mean {near!r}?" if near else ""
        raise usage_error(f"{slug!r} is not a valid slug. {reason}{hint}") from error


def stored_slugs(model: type[Agent | Suite | Fixture]) -> list[str]:
    """Return the slugs of what is stored; none without a database, which a file does not need."""
    try:
        return list(model.objects.order_by("slug").values_list("slug", flat=True))
    except (OperationalError, ProgrammingError):
        return []


def write_starter(
    command: BaseCommand, text: str, *, model: type[Suite | Fixture], slug: str, folder: Path
) -> None:
    """Write a new file, and print its path.

    Raises:
        CommandError: the file exists already, or cannot be written.
    """
    kind = model.__name__.lower()
    path = folder / f"{slug}.{kind}.yaml"
    shown = os.path.relpath(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        write_schemas(folder / FOLDER)
    except FileExistsError as error:
        # Also for a folder: a file is in its place.
        taken = os.path.relpath(error.filename)
        raise usage_error(
            f"{taken} exists already; choose another slug or another --dir."
        ) from error
    except OSError as error:
        raise usage_error(f"{shown} cannot be written: {error.strerror}.") from error
    if slug in stored_slugs(model):
        message = f"A {kind} {slug!r} exists already; importing this file would replace it."
        command.stderr.write(f"warning: {message}", command.style.WARNING)
    command.stdout.write(f"{shown} is written. Edit it, then: {COMMAND} import_evals {shown}")
