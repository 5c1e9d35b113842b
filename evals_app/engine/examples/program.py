"""An agent that is a program: `python -m evals_app.engine.examples.program`, message on stdin."""

import json
import os
import sys

from evals_app.engine.examples.agents import analyst


def main() -> None:
    """Write the analyst's reply to the message, as JSON."""
    history = json.loads(os.environ.get("AGENTURA_HISTORY", "[]"))
    json.dump(analyst(sys.stdin.read(), history), sys.stdout)


if __name__ == "__main__":
    main()
