"""Look the packages of lock files up in a database of known vulnerabilities.

Exit code 1: some have one. Where no database answers, that is said, and nothing fails. pip-audit
tells neither apart: it fails for both, and takes packages that it could not ask about for sound.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(locks: list[str]) -> int:
    """Audit lock files; give the exit code."""
    found, complaint = _asked(locks)
    sound = [each for each in found if each.get("vulns") == []]
    wrong = [each for each in found if each.get("vulns")]
    if not sound and not wrong:
        reason = complaint or "it knows none of the packages"
        print(f"Left out: no database of vulnerabilities can be asked here: {reason}")
        return 0
    for each in found:
        if "vulns" not in each:
            print(f"Not known there: {each['name']}")
    for each in wrong:
        for vulnerability in each["vulns"]:
            fixed = ", ".join(vulnerability["fix_versions"]) or "none yet"
            print(f"{each['name']} {each['version']}: {vulnerability['id']}, fixed in {fixed}")
    print(f"{len(sound)} packages without a known vulnerability, {len(wrong)} with one.")
    return 1 if wrong else 0


def _asked(locks: list[str]) -> tuple[list[dict[str, Any]], str]:
    """Return what is known of each package; if of none, what pip-audit complained of last."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"]
        command += ["--progress-spinner", "off", "--format", "json", "--output", str(output)]
        command += [part for lock in locks for part in ("--requirement", lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        if output.is_file():
            return json.loads(output.read_text())["dependencies"], ""
    return [], done.stderr.strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
