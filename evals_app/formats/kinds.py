"""The kinds of objects that files describe, and the dialects in which they are written."""

from typing import Literal, get_args

Kind = Literal["provider", "agent", "fixture", "suite"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Dialect = Literal[
    "native", "struere", "agentura", "lobu", "holodeck", "promptfoo", "openai-evals", "table"
]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
