"""The action and the pages about pipelines against the command that they call; our own pipeline."""

import re
import shlex
import subprocess
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evals_app.management.run_options import add_run_options

ROOT = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
PINNED = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
PAGES = [ROOT / "docs" / name for name in ("ci.md", "first-hour.md", "reports.md")]
CONTINUED = re.compile(r"\\\n\s*")
# What the action leaves to a shell: options of the caller, and an option if a variable is set.
FILLED_IN = re.compile(r"\$ARGUMENTS|\$\{\w+:\+([^}]*)\}")


def blocks(language: str) -> Iterator[str]:
    for page in PAGES:
        yield from re.findall(rf"(?ms)^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"))


def scripts() -> Iterator[str]:
    """Return everything that a shell runs."""
    yield from blocks("sh")
    yield from re.findall(r"sh '(.+)'", "\n".join(blocks("groovy")))
    for text in blocks("yaml"):
        yield from _written(yaml.safe_load(text))
    for step in ACTION["runs"]["steps"]:
        yield step.get("run", "")


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _written(item)
    elif isinstance(value, str):
        yield value


def commands() -> list[list[str]]:
    """Return the arguments of every call of run_evals."""
    lines = [
        line
        for text in scripts()
        for line in FILLED_IN.sub(r"\1", CONTINUED.sub("", text)).splitlines()
    ]
    called = (re.search(r'evalwell"? run_evals (.+)', line) for line in lines)
    return [shlex.split(match[1].partition(" >")[0]) for match in called if match]


def test_every_option_of_every_call_exists() -> None:
    parser = ArgumentParser(exit_on_error=False)
    add_run_options(parser)
    found = commands()

    for words in found:
        parser.parse_args(words)

    assert len(found) > 6


def test_every_input_is_used_described_and_documented() -> None:
    steps = yaml.safe_dump(ACTION["runs"])
    (table,) = re.findall(
        r"(?ms)^\| input \|.*?\n\n", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    )
    documented = set(re.findall(r"(?m)^\| `([a-z]+)` ", table))

    assert set(re.findall(r"inputs\.([a-z]+)", steps)) == documented == ACTION["inputs"].keys()
    assert all(value["description"] for value in ACTION["inputs"].values())


@pytest.mark.parametrize("text", [text for text in blocks("yaml") if "jobs:" in text])
def test_a_workflow_gives_only_inputs_that_exist(text: str) -> None:
    (job,) = yaml.safe_load(text)["jobs"].values()
    (step,) = [step for step in job["steps"] if "evalwell" in step["uses"]]

    assert step.get("with", {}).keys() <= ACTION["inputs"].keys()


def test_the_action_reaches_inputs_only_through_variables() -> None:
    """Else whoever writes one could run commands."""
    assert [step["run"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    "path", [WORKFLOW, RELEASE, ROOT / "action.yml"], ids=lambda path: path.name
)
def test_actions_of_others_are_pinned_to_a_commit(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [line for line in lines if re.match(r"[ -]*uses:", line)]

    assert used
    assert [line for line in used if not PINNED.search(line)] == []


def test_one_job_lints_and_the_others_do_not() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    run = {name: [step.get("run") for step in job["steps"]] for name, job in jobs.items()}

    assert [name for name, steps in run.items() if "make lint" in steps] == ["lint"]
    assert ".ci/run" not in run["check"]
    assert ".ci/run tests" in run["check"]


def test_only_a_tag_releases_and_each_job_may_do_only_its_own_part() -> None:
    workflow = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    may_write = {
        name: {right for right, value in job["permissions"].items() if value == "write"}
        for name, job in jobs.items()
    }

    assert workflow[True] == {"push": {"tags": ["v[0-9]*"]}}  # YAML reads "on" as true
    assert workflow["permissions"] == {"contents": "read"}
    assert may_write == {
        "build": {"id-token", "attestations"},
        "pypi": {"id-token"},
        "page": {"contents"},
    }
    assert "secrets." not in RELEASE.read_text(encoding="utf-8")
    assert [
        step["run"]
        for job in jobs.values()
        for step in job["steps"]
        if "${{" in step.get("run", "")
    ] == []
    assert (jobs["pypi"]["needs"], jobs["pypi"]["environment"]) == ("build", "pypi")


def test_a_release_with_placeholders_is_refused(tmp_path: Path) -> None:
    steps = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))["jobs"]["build"]["steps"]
    (script,) = [step["run"] for step in steps if step.get("name") == "Refuse placeholders"]
    guide = tmp_path / "docs" / "ci.md"
    guide.parent.mkdir()

    def refuses(account: str) -> bool:
        guide.write_text(f"uses: {account}/evalwell@1.0\n", encoding="utf-8")
        done = subprocess.run(["/bin/sh", "-e", "-c", script], cwd=tmp_path, check=False)
        return done.returncode == 1

    assert refuses("OWNER")
    assert not refuses("tidy-cats")


def test_updates_are_proposed_for_everything_that_is_pinned() -> None:
    (updates,) = list(yaml.safe_load_all((ROOT / ".github" / "dependabot.yml").read_text()))

    assert {
        (update["package-ecosystem"], update["directory"]) for update in updates["updates"]
    } == {
        ("pip", "/"),
        ("github-actions", "/"),
        ("docker", "/docs/deploy"),
        ("docker-compose", "/docs/deploy"),
    }


def test_the_sbom_is_of_the_runtime_alone() -> None:
    """Its tools, pinned in a lock of their own, are in an environment of their own."""
    make = ["make", "--dry-run", "--always-make", "--directory", str(ROOT), "sbom"]
    planned = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    installed = re.findall(r"PIP_PYTHON=(\S+) .*--require-hashes -r (\S+)", planned)

    assert installed == [
        ("var/sbom/runtime", "requirements.lock"),
        ("var/sbom/runtime", "redis.lock"),
        ("var/sbom/tools", ".ci/sbom.lock"),
    ]
    assert re.search(
        r"tools/bin/cyclonedx-py .* var/sbom/runtime$", CONTINUED.sub("", planned), re.MULTILINE
    )
    assert "tools/bin/pip-licenses --python var/sbom/runtime" in planned
