"""What the environment says about models and permissions, by the variables that a site reads, too."""

import os
from collections.abc import Mapping, Sequence
from json import loads
from pathlib import Path

from evals_app.engine.basics.mcp_servers import read_servers
from evals_app.engine.basics.permits import Permits, permits, set_permits
from evals_app.engine.network.provider_kinds import USUAL_KEYS
from evals_app.engine.preparing.obstacles import UsualModels

USUAL_JUDGE = "anthropic/claude-haiku-5-5"


def usual_models(environ: Mapping[str, str] = os.environ) -> UsualModels:
    """Return the models of checks that name none."""
    return UsualModels(
        environ.get("EVALS_JUDGE_MODEL", "").strip() or USUAL_JUDGE,
        environ.get("EVALS_EMBEDDING_MODEL", "").strip(),
        environ.get("EVALS_MODEL2VEC_DIR", "").strip(),
    )


def take_permits(environ: Mapping[str, str] = os.environ) -> None:
    """Permit in this process what its environment lists; where a site runs, its settings have done so.

    Raises:
        ValueError: a variable cannot be read.
    """
    if permits() != Permits():
        return
    set_permits(
        Permits(
            modules=_names(environ, "EVALS_PYTHON_MODULES"),
            commands=_names(environ, "EVALS_COMMANDS"),
            hosts=_names(environ, "EVALS_PRIVATE_HOSTS"),
            variables=_names(environ, "EVALS_HEADER_VARIABLES", ["AGENT_*"]),
            keys=_names(environ, "EVALS_KEY_VARIABLES", [*USUAL_KEYS, "PROVIDER_*"]),
            mcp_servers=read_servers(
                environ.get("EVALS_MCP_SERVERS", ""), environ, folder=Path.cwd()
            ),
            interpreters=loads(environ.get("EVALS_PYTHON_INTERPRETERS", "").strip() or "{}"),
        )
    )


def _names(environ: Mapping[str, str], name: str, default: Sequence[str] = ()) -> tuple[str, ...]:
    written = environ.get(name, "").strip() or ",".join(default)
    return tuple(part.strip() for part in written.split(",") if part.strip())
