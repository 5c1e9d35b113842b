"""The Lobu dialect: `agents/<id>/evals/*.yaml`, `*.rubric.md` next to them, and `lobu.toml`."""

import re
from pathlib import PurePosixPath

from evals_app.formats.dialect import Dialect

_EVAL = re.compile(r"(?:^|/)agents/([^/]+)/evals/[^/]+\.ya?ml$")


def agent_of(path: str) -> str | None:
    """Return the id of the agent that an eval file tests by its folder."""
    match = _EVAL.search(path)
    return match[1] if match else None


def _is_certain(path: str, _data: object) -> bool:
    return PurePosixPath(path).name == "lobu.toml"


def _is_likely(path: str, data: object) -> bool:
    return (isinstance(data, dict) and "turns" in data) or agent_of(path) is not None


DIALECT = Dialect(
    name="lobu",
    title="Lobu",
    page="coming-from-lobu",
    about=(
        "The folder that holds lobu.toml and agents/, as a .zip: the folder of a file says which "
        "agent it tests."
    ),
    sample=(
        (
            "agents/shop/evals/refund.yaml",
            """\
name: refund
description: Asks for a refund.
turns:
  - content: I want my money back.
    assert:
      - type: contains
        value: refund
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("lobu.toml", "agents/*/evals/*.yaml", "agents/*/evals/*.yml"),
    is_certain=_is_certain,
    is_likely=_is_likely,
)
