"""What tests permit for a while."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from evals_app.engine.basics.mcp_servers import read_servers
from evals_app.engine.basics.permits import permits, set_permits


@contextmanager
def permitting(*, mcp_servers: Mapping[str, Any] | None = None, **changes: Any) -> Iterator[None]:
    """Permit something; MCP servers as the operator writes them."""
    before = permits()
    if mcp_servers is not None:
        changes["mcp_servers"] = read_servers(json.dumps(mcp_servers), os.environ)
    set_permits(replace(before, **changes))
    try:
        yield
    finally:
        set_permits(before)
