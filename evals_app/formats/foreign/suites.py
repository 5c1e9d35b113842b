"""Suites of files that name no agent."""

from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, NoAgent

NOBODY = "nobody"  # means an agent that is not named, so that all other errors are found
_NO_AGENT = "No agent is named. Choose the one to test with --agent."


def agent_problem(document: ParsedFile, loc: Loc = ()) -> NoAgent:
    """Return the problem that no agent is named."""
    return NoAgent(document.path, *document.place(loc), "", "", _NO_AGENT)
