"""The reference of assertion types, written from the graders themselves.

`python -m evals_app.reports.assertions > docs/assertions.md` writes the page anew.
"""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS, Grader
from evals_app.reports.fields import cell, field_table

_INTRODUCTION = """\
# Assertions

An assertion verifies one thing about a turn or about a whole conversation; the admin calls it a
check. It has a `type`, the options of that type, and the common keys below. A key that is unknown, a
value of the wrong kind and a pattern that cannot work are refused when the assertion is written.

```yaml
assertions:
  - type: contains
    value: refund
    weight: 2
```

Assertions of a turn see that turn: its reply and its tool calls. Assertions in `final_assertions`
see the whole conversation: all replies and all calls.

Unless a suite's `pass_rule` is `score` or its `run_rule` is `gates`, a case needs at least one check
with a verdict, or a limit: otherwise its executions end in error, because nothing was asserted.

A check that cannot fail proves nothing, so forms and our own files refuse it: a threshold of 0, a
pattern that fits every text. So do they with the name of a tool, a chunk, an entity or an entity type
that the suite's agent and fixtures do not have. Files of other systems must import; there it is a
warning, and what cannot fail is shown only. If a name is gone when a run begins, its check ends in
error (cause `case`): it neither passes nor counts against the agent. Agents over HTTP, in Python and
programs bring tools that nobody here knows, so their names are taken as written. An agent without any
tool may yet be given some, so there a name is a warning.

The expected answer of a turn is graded by the turn's own checks when both are saved; a warning names
the checks that even this answer would fail.

A judge may be a script, for examples and for tests without a model: `judge_model: scripted/SLUG`
asks the agent with that slug, whose rules match the judge's prompt. Criteria and reply stand in it
between `<CRITERIA` and `</CRITERIA`, `<SUBMISSION` and `</SUBMISSION`; prompts of metrics that ask in
several steps begin with `TASK:` and the step, for example `TASK: claims`. The rule's reply is the
judge's: the JSON that is asked for, in short also `pass`, `fail` or a number, and for a checklist
`{"1": "pass", "2": "fail"}`. Where no rule matches, the judge cannot grade. Its verdicts are labelled
as scripted."""


class _Readable(yaml.SafeDumper):
    """Quotes patterns, so that nobody wonders which backslashes YAML takes."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = "'" if "\\" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _Readable.represent_text)

# Common key -> default, meaning.
COMMON: dict[str, tuple[str, str]] = {
    "type": ("required", "One of the types below."),
    "name": ("a sentence about the check", "Label shown to people."),
    "weight": ("`1`", "Share in the score. 0: shown only, in neither score nor verdict."),
    "threshold": (
        "none",
        "A check without a verdict of its own passes at this score (above 0, at most 1) or more; else it informs.",
    ),
    "enabled": ("`true`", "`false` keeps the check but leaves it out."),
    "fail_on_error": (
        "`false`",
        "A check that cannot be graded makes the execution errored; `true` makes it failed.",
    ),
    "model": (
        "the suite's judge",
        "Judge of this check: `provider/model`, or `agent` for its own. Judged types only.",
    ),
    "scope": (
        "the turn's reply, at the end the last one",
        "`conversation` reads all replies. Types that read text only; a judge at the end always does.",
    ),
}

# Of examples; what is right depends on the texts. Where nothing stands, 0.8.
_THRESHOLDS = {"fuzzy_match": 0.6, "token_f1": 0.6, "bleu": 0.3, "rouge": 0.5, "meteor": 0.5}

# In the order in which people look for them.
FAMILIES: dict[str, str] = {
    "text": "Text of the reply",
    "numbers": "Numbers",
    "overlap": "Likeness to an expected text",
    "json": "JSON in the reply",
    "tools": "Tool calls",
    "retrieval": "Fetched knowledge",
    "world": "Changes of the world",
    "effort": "Time and cost",
    "judged": "Judged by a model",
    "code": "Code of your own",
}

_MATCHERS = """\
## Argument matchers

`args` of tool checks name what each argument must be.

| written | matches |
|---|---|
| a bare value | the same value, deeply: `1` equals `1.0`, `true` equals only `true`; the texts \
`"True"`, `"5"` and `"1.10"` are neither `true`, `5` nor `1.1`; accented letters are equal however they are encoded |
| `{fuzzy: x}` | the same apart from case, surplus spaces, kinds of quotation marks and dashes, and \
`,` and `_` outside of numbers; two numbers are equal within 1e-9, and `35%` is `0.35` |
| `{fuzzy: x, decimal: comma}` | the same, where decimals are written with a comma: `3,5` is `3.5`; or \
`decimal: point` |
| `{regex: p}` | the pattern (RE2, case-sensitive) fits the whole text form of the value, such as \
`true` |
| `{any_of: [...]}` | one of these; each may be a value or a matcher |
| `{contains: x}` | a list has the value; of anything else the text form has the text in it. Upper and \
lower case are alike |
| `{present: true}` | the argument was passed, even as null; `false`: it was not |

A number is read from a text as by [`numeric`](#numeric): `1,234`, `1.234,56` and `206 588` are numbers.
`3,5` is one only where `decimal` says so, and a text such as `01234` never is: a zip code is not a
number. Where a number would match if its decimals were read in another way, the reason says so.

A matcher has one key, apart from `decimal`. It stands under the name of an argument, or inside of a
list or a mapping: `{items: [{sku: {regex: "A-.*"}}]}`. Lists are as long as written, and mappings have
no other keys."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What there is to know of one type: for the page in docs/, and beside the field in the admin.

    `first` says when it passes, `scoring` (Markdown) how it scores, `calls` what it costs in model
    calls; `named_by` are the products whose evals have it.
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
    def calls(self) -> str:
        return self.grader.calls

    @property
    def named_by(self) -> tuple[str, ...]:
        return self.grader.named_by


def reference_of(kind: str) -> Reference:
    """Describe a type from its grader."""
    grader = GRADERS[kind]
    first, _, rest = inspect.cleandoc(grader.__doc__ or "").partition("\n")
    written = {"type": kind} | grader.example
    if not grader.model_validate(grader.example).decides(None):
        # Copied without one, it would decide nothing.
        written["threshold"] = _THRESHOLDS.get(kind, 0.8)
    example = yaml.dump([written], Dumper=_Readable, sort_keys=False, allow_unicode=True)
    return Reference(kind, grader, first, rest.strip(), example, tuple(_aliases(kind)))


def assertions_reference() -> str:
    """Write the page: a table of the types, the common keys, one section for each type."""
    references = [reference_of(kind) for kind in GRADERS]
    parts = [_INTRODUCTION, _overview(references), _common_keys()]
    for family, title in FAMILIES.items():
        found = [_section(each) for each in references if each.grader.family == family]
        if found:
            parts += [f"## {title}", *found]
        if family == "tools":
            parts.append(_MATCHERS)
    return "\n\n".join(parts) + "\n"


def _overview(references: Sequence[Reference]) -> str:
    rows = [
        f"| {_names(each)} | {cell(each.first)} | {each.calls} | {', '.join(each.named_by)} |"
        for each in references
    ]
    intro = (
        "The last column names the products from whose evals the type is known; “model calls” is"
        " what grading it once takes."
    )
    head = [
        "| type (other names) | what it checks | model calls | known from |",
        "|---|---|---|---|",
    ]
    return "\n".join(["## Types", "", intro, "", *head, *rows])


def _common_keys() -> str:
    rows = [f"| `{key}` | {default} | {cell(text)} |" for key, (default, text) in COMMON.items()]
    return "\n".join(["## Common keys", "", "| key | default | meaning |", "|---|---|---|", *rows])


def option_table(grader: type[Grader]) -> str:
    """Write the table of a type's options."""
    return field_table(grader, default=_default) if grader.model_fields else "It has no options."


def _default(model: type[BaseModel], field: FieldInfo) -> str | None:
    """Name the default of a `value` that a turn's expected text stands in for."""
    takes_expected = issubclass(model, Grader) and model.uses_expected
    is_value = takes_expected and field is model.model_fields.get("value")
    return "the turn's expected text" if is_value and not field.is_required() else None


def _section(each: Reference) -> str:
    facts = [f"Model calls: {each.calls}."]
    if each.also:
        facts.append(f"Other names: {', '.join(each.also)}.")
    if each.named_by:
        facts.append(f"Known from: {', '.join(each.named_by)}.")
    parts = [
        f"### {each.kind}",
        f"{each.label}. {each.first}",
        each.scoring,
        " ".join(facts),
        option_table(each.grader),
        f"```yaml\n{each.example}```",
    ]
    return "\n\n".join(part for part in parts if part)


def _names(each: Reference) -> str:
    other = [name.partition(" ")[0] for name in each.also]
    anchor = f"[`{each.kind}`](#{each.kind})"
    return f"{anchor} ({', '.join(other)})" if other else anchor


def _aliases(kind: str) -> list[str]:
    """Name the other names of a type, each with the options that come with it."""
    found = []
    for name, (meant, options) in ALIASES.items():
        if meant == kind:
            implied = ", ".join(f"`{key}: {value}`" for key, value in options.items())
            found.append(f"`{name}`" + (f" (with {implied})" if implied else ""))
    for name, (key, members) in GROUPS.items():
        if kind in members:
            found.append(f"`{name}` (with `{key}: {kind}`)")
    return found


if __name__ == "__main__":
    sys.stdout.write(assertions_reference())
