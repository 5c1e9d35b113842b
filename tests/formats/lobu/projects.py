"""Eval files of Lobu, as its own document shows them, and how tests read them."""

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(agents={"my-agent": "model"})

# The document's examples.
PING = """\
# agents/my-agent/evals/ping.yaml
name: ping
description: Agent responds to a greeting

turns:
  - content: "Hello, are you there?"
    assert:
      - type: contains
        value: "hello"
        options: { case_insensitive: true }
"""
RUBRIC = """\
<!-- agents/my-agent/evals/follows-instructions.rubric.md -->
# Instruction Following

## Direct Compliance
- Agent addresses the specific request, not a tangential topic
- Response format matches the formatting instructions given
- Exact count requested is respected (no more, no fewer)

## Boundary Respect
- Agent does not add unrequested features or disclaimers
- No unsolicited follow-up questions

## Tone
- Professional and helpful
- No unnecessary apologies or hedging
"""
EVALS = "agents/my-agent/evals/"


def read(
    files: dict[str, str],
    *,
    beside: dict[str, str] | None = None,
    agent: str | None = None,
    known: ExistingObjects = KNOWN,
) -> Imported:
    others = {f"{EVALS}follows-instructions.rubric.md": RUBRIC} | (beside or {})
    sources = [SourceFile(path, text.encode()) for path, text in files.items()]

    def find(path: str) -> bytes | None:
        return others[path].encode() if path in others else None

    return read_files(sources, known=known, find=find, agent=agent)


def problems(
    files: dict[str, str], *, agent: str | None = None, known: ExistingObjects = KNOWN
) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(files, agent=agent, known=known)
    return [problem for problem in caught.value.problems if problem.level == "error"]
