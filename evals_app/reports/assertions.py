"""The reference of assertion types, written from the graders themselves.

`python -m evals_app.reports.assertions > docs/assertions.md` writes the page anew.
"""

import inspect
import sys

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.graders import ALIASES, GRADERS, NOT_YET, Grader
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
see the whole conversation: all replies and all calls."""


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
        "From 0 to 1. A check that gives no verdict of its own passes at this score or more.",
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

_FAMILIES = {
    "text": "Text of the reply",
    "tools": "Tool calls",
    "retrieval": "Fetched knowledge",
    "judged": "Judged by a model",
}

_MATCHERS = """\
## Argument matchers

`args` of tool checks name what each argument must be.

| written | matches |
|---|---|
| a bare value | the same value, deeply: `1` equals `1.0`, `true` equals only `true`, texts are not \
converted |
| `{fuzzy: x}` | the same apart from case, surplus spaces, `,` and `_`; two numbers are equal within \
1e-9, and `35%` is `0.35` |
| `{regex: p}` | the pattern (RE2, case-sensitive) fits the whole text form of the value |
| `{any_of: [...]}` | one of these; each may be a value or a matcher |
| `{contains: x}` | a list has the value, or the text form has the text in it, upper and lower case \
alike |
| `{present: true}` | the argument was passed, even as null; `false`: it was not |

A matcher stands directly under the name of an argument and has one key. Inside a literal mapping or
list everything is compared as written."""


def assertions_reference() -> str:
    """Write the page: a table of the types, the common keys, one section for each type."""
    parts = [_INTRODUCTION, _overview(), _common_keys()]
    for family, title in _FAMILIES.items():
        parts.append(f"## {title}")
        parts += [
            _section(kind, grader) for kind, grader in GRADERS.items() if grader.family == family
        ]
        if family == "tools":
            parts.append(_MATCHERS)
    later = ", ".join(f"`{kind}`" for kind in sorted(NOT_YET))
    parts.append(f"## Not in this version\n\nRefused by name: {later}.")
    return "\n\n".join(parts) + "\n"


def _overview() -> str:
    rows = [
        f"| {_names(kind)} | {cell(_docstring(grader)[0])} |" for kind, grader in GRADERS.items()
    ]
    return "\n".join(
        ["## Types", "", "| type (other names) | what it checks |", "|---|---|", *rows]
    )


def _common_keys() -> str:
    rows = [f"| `{key}` | {default} | {cell(text)} |" for key, (default, text) in COMMON.items()]
    return "\n".join(["## Common keys", "", "| key | default | meaning |", "|---|---|---|", *rows])


def _default(model: type[BaseModel], field: FieldInfo) -> str | None:
    """Name the default of a `value` that a turn's expected text stands in for."""
    takes_expected = issubclass(model, Grader) and model.uses_expected
    is_value = takes_expected and field is model.model_fields.get("value")
    return "the turn's expected text" if is_value and not field.is_required() else None


def _section(kind: str, grader: type[Grader]) -> str:
    first, rest = _docstring(grader)
    example = yaml.dump(
        [{"type": kind} | grader.example], Dumper=_Readable, sort_keys=False, allow_unicode=True
    )
    parts = [f"### {kind}", f"{grader.label}. {first}", rest]
    if other := _aliases(kind):
        parts.append(f"Other names: {', '.join(other)}.")
    parts += [field_table(grader, default=_default), f"```yaml\n{example}```"]
    return "\n\n".join(part for part in parts if part)


def _names(kind: str) -> str:
    other = [name.partition(" ")[0] for name in _aliases(kind)]
    anchor = f"[`{kind}`](#{kind})"
    return f"{anchor} ({', '.join(other)})" if other else anchor


def _aliases(kind: str) -> list[str]:
    """Name the other names of a type, each with the options that come with it."""
    found = []
    for name, (meant, options) in ALIASES.items():
        if meant == kind:
            implied = ", ".join(f"`{key}: {value}`" for key, value in options.items())
            found.append(f"`{name}`" + (f" (with {implied})" if implied else ""))
    return found


def _docstring(grader: type[Grader]) -> tuple[str, str]:
    first, _, rest = inspect.cleandoc(grader.__doc__ or "").partition("\n")
    return first, rest.strip()


if __name__ == "__main__":
    sys.stdout.write(assertions_reference())
