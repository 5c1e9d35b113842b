"""Variables in prompts that only another system fills in: kept as text, and reported."""

from typing import Any, Literal

from evals_app.engine.basics.template import statements, without_foreign
from evals_app.formats.reading.problems import MakeProblem, Problem
from fixtures_app.ground.quoting import cut_middle

_SHOWN = 100  # characters
_RECEIVERS = {"system_prompt": "agent", "judge_context": "judge"}


def foreign_variable(name: str, key: Literal["system_prompt", "judge_context"]) -> str:
    """Return what happens to a variable that nothing fills in here."""
    return (
        f"Nothing here fills {{{{{cut_middle(name, _SHOWN)}}}}} in, so the {_RECEIVERS[key]} receives "
        "it unchanged. Write its value, or use a parameter of the case: "
        "{{threadContext.params.NAME}}."
    )


def foreign_statement(text: str, key: Literal["system_prompt", "judge_context"]) -> str:
    """Return what happens to the statements of a template, naming the first."""
    named = cut_middle(statements(text)[0], _SHOWN)
    return (
        f"Nothing here runs {named}, so the {_RECEIVERS[key]} receives it unchanged, with all that "
        "it would choose from. Write out the text."
    )


def with_plain_variables(
    data: Any, key: Literal["system_prompt", "judge_context"], place: MakeProblem
) -> tuple[Any, list[Problem]]:
    """Return data whose prompt has no foreign variables, and a loss for each of them.

    What else a template of another system does is one loss.
    """
    written = data.get(key) if isinstance(data, dict) else None
    if not isinstance(written, str):
        return data, []
    text, names = without_foreign(written)
    messages = [foreign_variable(name, key) for name in names]
    messages += [foreign_statement(written, key)] if statements(written) else []
    losses = [place((key,), message, value="", level="loss") for message in messages]
    return {**data, key: text}, losses
