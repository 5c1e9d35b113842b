"""The audit of dependencies, with a stand-in for pip-audit: CI may have no network."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AUDIT = Path(__file__).resolve().parent.parent / ".ci" / "audit.py"
SOUND = {"name": "sound", "version": "1", "vulns": []}
WRONG = {
    "name": "wrong",
    "version": "1",
    "vulns": [{"id": "CVE-1", "fix_versions": ["2"], "aliases": [], "description": ""}],
}
UNKNOWN = {"name": "unknown", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("dependencies", "code", "words"),
    [
        pytest.param([SOUND, SOUND], 0, "2 packages without", id="sound"),
        pytest.param([SOUND, WRONG], 1, "wrong 1: CVE-1, fixed in 2", id="vulnerable"),
        pytest.param([SOUND, UNKNOWN], 0, "Not known there: unknown", id="one is not known"),
        pytest.param([UNKNOWN, UNKNOWN], 0, "Left out", id="none is known"),
        pytest.param(None, 0, "Left out: no database", id="no answer"),
    ],
)
def test_what_is_vulnerable_and_what_cannot_be_asked_differ(
    tmp_path: Path, dependencies: list[dict[str, Any]] | None, code: int, words: str
) -> None:
    answer = json.dumps(json.dumps({"dependencies": dependencies, "fixes": []}))
    (tmp_path / "pip_audit.py").write_text(
        "import sys\n"
        + (
            "sys.exit('could not connect')"
            if dependencies is None
            else f"open(sys.argv[sys.argv.index('--output') + 1], 'w').write({answer})\nsys.exit(1)"
        )
    )

    done = subprocess.run(
        [sys.executable, AUDIT, "requirements.lock"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert words in done.stdout
