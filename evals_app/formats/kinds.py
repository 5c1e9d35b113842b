"""The kinds of objects that files describe."""

from typing import Literal, get_args

Kind = Literal["provider", "agent", "fixture", "suite"]
KINDS: tuple[Kind, ...] = get_args(Kind)
