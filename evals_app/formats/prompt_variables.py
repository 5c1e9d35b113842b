"""Variables in prompts that only another system fills in: kept as text, and reported."""

from typing import Any, Literal

from evals_app.engine.template import without_foreign
from evals_app.formats.problems import Place, Problem

FOREIGN_VARIABLE = (
    "Nothing here fills {{{{{name}}}}} in, so the agent receives it unchanged. Write its value, "
    "or use a parameter of the case: {{{{threadContext.params.NAME}}}}."
)


def with_plain_variables(
    data: Any, key: Literal["system_prompt", "judge_context"], place: Place
) -> tuple[Any, list[Problem]]:
    """Return data whose prompt has no foreign variables, and a loss for each of them."""
    written = data.get(key) if isinstance(data, dict) else None
    if not isinstance(written, str):
        return data, []
    text, names = without_foreign(written)
    losses = [
        place((key,), FOREIGN_VARIABLE.format(name=name), value="", level="loss") for name in names
    ]
    return {**data, key: text}, losses
