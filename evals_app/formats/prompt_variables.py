"""Variables in prompts that only another system fills in: kept as text, and reported."""

from collections.abc import Callable
from typing import Any, Literal

from evals_app.engine.template import without_foreign
from evals_app.formats.problems import Problem

FOREIGN_VARIABLE = (
    "Nothing here fills {{{{{name}}}}} in, so the agent reads it as it is written. Write what it stands"
    " for, or a parameter of the case: {{{{threadContext.params.NAME}}}}."
)


def with_plain_variables(
    data: Any,  # noqa: ANN401 - JSON
    key: Literal["system_prompt", "judge_context"],
    place: Callable[..., Problem],
) -> tuple[Any, list[Problem]]:
    """Return data whose prompt has no foreign variables, and a loss for each of them."""
    written = data.get(key) if isinstance(data, dict) else None
    if not isinstance(written, str):
        return data, []
    text, names = without_foreign(written)
    losses = [
        place(
            (key,),
            FOREIGN_VARIABLE.format(name=name),
            value="",
            level="loss",
        )
        for name in names
    ]
    return {**data, key: text}, losses
