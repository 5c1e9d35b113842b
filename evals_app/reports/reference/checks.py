"""The reference of check types, generated from the graders themselves.

`python -m evals_app.reports.reference.checks > docs/assertions.md` regenerates the page.
"""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS, Grader
from evals_app.reports.words.fields import cell, field_table

_INTRODUCTION = """\
# Checks

A check verifies one thing about a turn or about a whole conversation. Files and REST call it an
assertion. It has a `type`, the options of that type, and the common keys below. Unknown keys, values
of the wrong kind and patterns that cannot work are refused when the check is written.

```yaml
assertions:
  - type: contains
    value: refund
    weight: 2
```

The checks of a turn see that turn: its reply and its tool calls. Checks in `final_assertions` see the
whole conversation: all replies and all tool calls.

A case needs at least one check with a verdict, or a limit, unless the suite's `pass_rule` is `score`
or its `run_rule` is `gates`. If all of its checks only inform, its conversations are *measured*; without
any check they are errored.

A check that cannot fail proves nothing, so forms and our own files refuse it: for example a threshold
of 0, or a pattern that matches every text. They also refuse the name of a tool, a chunk, an entity or
an entity type that the suite's agent and test data do not have. For files of other systems both are
warnings, and a check that cannot fail then only informs. If a name no longer exists when a run
starts, the check is an error (cause `case`), which does not count against the agent. Agents over
HTTP, in Python and programs have tools that are unknown here, so their names are accepted as written.
An agent without tools may be given some later, so there a name is a warning.

When you save a turn with an expected answer, the turn's own checks grade that answer too. A warning
lists the checks that it would not pass.

A judge can be a script, for examples and for tests without a model: `judge_model: scripted/SLUG` uses
the agent with that slug, whose rules match the judge's prompt. In the prompt, the criteria are between
`<CRITERIA` and `</CRITERIA` and the reply is between `<SUBMISSION` and `</SUBMISSION`. Prompts of
metrics with several steps begin with `TASK:` and the step, for example `TASK: claims`. The rule's
reply is the judge's answer: the expected JSON, or in short `pass`, `fail` or a number, and for a
rubric `{"1": "pass", "2": "fail"}`. If no rule matches, the judge cannot grade. Its verdicts are
labelled as scripted."""


class _Readable(yaml.SafeDumper):
    """Quotes patterns, so that YAML keeps their backslashes."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = "'" if "\\" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _Readable.represent_text)

# Common key -> default, meaning.
COMMON: dict[str, tuple[str, str]] = {
    "type": ("required", "One of the types below."),
    "name": ("a generated sentence", "The label shown to people."),
    "weight": (
        "`1`",
        "Weight in the score. With 0 the check only informs: it affects neither score nor verdict.",
    ),
    "threshold": (
        "none",
        "The score (above 0, at most 1) from which a check without its own verdict passes. Without a threshold it only informs.",
    ),
    "enabled": ("`true`", "`false` turns the check off."),
    "fail_on_error": (
        "`false`",
        "If the check cannot be graded, the conversation is errored; with `true` it fails.",
    ),
    "model": (
        "the suite's judge",
        "The judge of this check: `provider/model`, or `agent` for the agent's own model. Judged types only.",
    ),
    "scope": (
        "the turn's reply; in final checks, the last reply",
        "`conversation` reads all replies. Only for types that read text; judges in final checks always do.",
    ),
}

# For examples; the right value depends on the texts. Otherwise 0.8.
_THRESHOLDS = {"fuzzy_match": 0.6, "token_f1": 0.6, "bleu": 0.3, "rouge": 0.5, "meteor": 0.5}

# In the order in which people look for them.
FAMILIES: dict[str, str] = {
    "text": "Text of the reply",
    "numbers": "Numbers",
    "overlap": "Similarity to an expected text",
    "json": "JSON in the reply",
    "tools": "Tool calls",
    "retrieval": "Fetched knowledge",
    "world": "Changes in the world",
    "effort": "Time and cost",
    "judged": "Judged by a model",
    "code": "Your own code",
}

_MATCHERS = """\
## Argument matchers

`args` of tool checks define what each argument must be.

| matcher | matches |
|---|---|
| a plain value | the same value, at every level: `1` equals `1.0`, `true` equals only `true`; the texts \
`"True"`, `"5"` and `"1.10"` do not equal `true`, `5` and `1.1`; accented letters are equal however they are encoded |
| `{fuzzy: x}` | the same except for case, extra spaces, kinds of quotation marks and dashes, and \
`,` and `_` outside numbers; two numbers are equal within 1e-9, and `35%` is `0.35` |
| `{fuzzy: x, decimal: comma}` | the same, for decimals written with a comma: `3,5` is `3.5`; or \
`decimal: point` |
| `{regex: p}` | the pattern (RE2, case-sensitive) matches the whole value written as text, such as \
`true` |
| `{any_of: [...]}` | one of these; each can be a value or a matcher |
| `{contains: x}` | a list contains the value; any other value, written as text, contains the text. Upper \
and lower case are the same |
| `{present: true}` | the argument was passed, even as null; with `false`, it was not |

Numbers are read from texts as in [`numeric`](#numeric): `1,234`, `1.234,56` and `206 588` are numbers.
`3,5` is one only if `decimal` says so, and a text such as `01234` never is: a zip code is not a
number. If a number would match with its decimals read differently, the reason says so.

A matcher has one key, apart from `decimal`. It is the value of an argument, or inside a list or a
mapping: `{items: [{sku: {regex: "A-.*"}}]}`. Lists must have the same length, and mappings must not
have other keys."""


@dataclass(frozen=True, slots=True)
class CheckReference:
    """Everything about one type: for the page in docs/, and next to the field in the admin.

    `first` is when it passes, `scoring` (Markdown) how it scores, `calls` what it costs in model
    calls; `named_by` are other products that have it.
    """

    kind: str
    grader: type[Grader]
    first: str
    scoring: str
    example: str
    also: tuple[str, ...]

    @property
    def label(self) -> str:
        return self.grader.label

    @property
    def in_words(self) -> str:
        return self.grader.in_words

    @property
    def calls(self) -> str:
        return self.grader.calls

    @property
    def named_by(self) -> tuple[str, ...]:
        return self.grader.named_by


def reference_of(kind: str) -> CheckReference:
    """Describe a type from its grader."""
    grader = GRADERS[kind]
    first, _, rest = inspect.cleandoc(grader.__doc__ or "").partition("\n")
    written = {"type": kind} | grader.example
    if not grader.model_validate(grader.example).decides(None):
        # Copied without a threshold, it would decide nothing.
        written["threshold"] = _THRESHOLDS.get(kind, 0.8)
    example = yaml.dump([written], Dumper=_Readable, sort_keys=False, allow_unicode=True)
    return CheckReference(kind, grader, first, rest.strip(), example, tuple(_aliases(kind)))


def assertions_reference() -> str:
    """Write the page: a table of the types, the common keys, and a section for each type."""
    references = [reference_of(kind) for kind in GRADERS]
    parts = [_INTRODUCTION, _overview(references), _common_keys()]
    for family, title in FAMILIES.items():
        sections = [
            _section(reference) for reference in references if reference.grader.family == family
        ]
        if sections:
            parts += [f"## {title}", *sections]
        if family == "tools":
            parts.append(_MATCHERS)
    return "\n\n".join(parts) + "\n"


def _overview(references: Sequence[CheckReference]) -> str:
    rows = [
        f"| {_names(reference)} | {cell(reference.first)} | {reference.calls} | {', '.join(reference.named_by)} |"
        for reference in references
    ]
    intro = (
        "“Model calls” are the calls for grading it once. The last column lists other products"
        " that have this check."
    )
    head = [
        "| type (other names) | what it checks | model calls | also found in |",
        "|---|---|---|---|",
    ]
    return "\n".join(["## Types", "", intro, "", *head, *rows])


def _common_keys() -> str:
    rows = [f"| `{key}` | {default} | {cell(text)} |" for key, (default, text) in COMMON.items()]
    return "\n".join(["## Common keys", "", "| key | default | meaning |", "|---|---|---|", *rows])


def option_table(grader: type[Grader]) -> str:
    """Return the table of a type's options."""
    return field_table(grader, default=_default) if grader.model_fields else "It has no options."


def _default(model: type[BaseModel], field: FieldInfo) -> str | None:
    """Name the default of a `value` that a turn's expected text replaces."""
    takes_expected = issubclass(model, Grader) and model.uses_expected
    is_value = takes_expected and field is model.model_fields.get("value")
    return "the turn's expected text" if is_value and not field.is_required() else None


def _section(reference: CheckReference) -> str:
    facts = [f"Model calls: {reference.calls}."]
    if reference.also:
        facts.append(f"Other names: {', '.join(reference.also)}.")
    if reference.named_by:
        facts.append(f"Also found in: {', '.join(reference.named_by)}.")
    parts = [
        f"### {reference.kind}",
        reference.first,
        f"For example: {reference.in_words}",
        reference.scoring,
        " ".join(facts),
        option_table(reference.grader),
        f"```yaml\n{reference.example}```",
    ]
    return "\n\n".join(part for part in parts if part)


def _names(reference: CheckReference) -> str:
    other = [name.partition(" ")[0] for name in reference.also]
    anchor = f"[`{reference.kind}`](#{reference.kind})"
    return f"{anchor} ({', '.join(other)})" if other else anchor


def _aliases(kind: str) -> list[str]:
    """Name the other names of a type, each with the options that come with it."""
    names = []
    for name, (meant, options) in ALIASES.items():
        if meant == kind:
            implied = ", ".join(f"`{key}: {value}`" for key, value in options.items())
            names.append(f"`{name}`" + (f" (with {implied})" if implied else ""))
    for name, (key, members) in GROUPS.items():
        if kind in members:
            names.append(f"`{name}` (with `{key}: {kind}`)")
    return names


if __name__ == "__main__":
    sys.stdout.write(assertions_reference())
