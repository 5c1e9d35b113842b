"""The scripts of pages, run by Deno on a small document of our own: see scripts/dom.js."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
DENO = Path(sys.executable).parent / "deno"
TESTS = sorted(SCRIPTS.glob("*.test.js"))


@pytest.mark.parametrize("tests", TESTS, ids=[path.name for path in TESTS])
def test_scripts_do_what_their_own_tests_say(tests: Path) -> None:
    done = subprocess.run(
        [DENO, "test", "--no-remote", "--allow-read", tests],
        cwd=SCRIPTS,
        env={"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
