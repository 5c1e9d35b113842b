"""The plug-in of pytest: what it collects, and how cases end. Each test starts a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = [str(ROOT), str(ROOT / "evals_app" / "python")]
SUITE = """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: good
    tags: [smoke]
    turns: [{user: Hello, assertions: [{type: contains, value: hello}]}]
  - name: bad
    turns: [{user: Hello, assertions: [{type: contains, value: zebra}]}]
  - name: broken
    turns: [{user: Hello, assertions: [{type: llm_judge, criteria: Kind, model: scripted/judge}]}]
  - name: measured
    turns: [{user: Hello, assertions: [{type: contains, value: hello, weight: 0}]}]
gates: {max_p95_ms: 60000}
"""
JUDGE = "{agent: Judge, slug: judge, driver: scripted, rules: [{reply: nonsense}]}"
MODULE = """
from evalwell import Case, Suite, check, evals

@evals("refunds.suite.yaml", tags=["smoke"])
def shop(message):
    return "hello"

@evals(Suite("Inline", cases=[Case("one", "Hi", checks=[check("contains", value="hello")])]))
async def other(message):
    return "hello"

def test_it_stays_a_function():
    assert shop("x") == "hello"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "refunds.suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.agent.yaml").write_text(JUDGE, encoding="utf-8")
    (tmp_path / "shop.py").write_text("def answer(message): return 'hello there'", encoding="utf-8")
    return tmp_path


def run_pytest(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:django", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "evals_app.code.pytest_plugin", "-rA", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*PATHS, str(folder)])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_file_that_is_named_has_a_test_for_each_case_and_one_for_its_gates(project: Path) -> None:
    out = run_pytest(project, "refunds.suite.yaml", "--evals-agent", "shop:answer")

    assert "PASSED refunds.suite.yaml::good" in out
    assert "FAILED refunds.suite.yaml::bad" in out
    assert "ERROR refunds.suite.yaml::broken" in out
    assert "ERROR refunds.suite.yaml::gates" in out  # what is not graded could change them
    assert "1 failed, 1 passed, 1 skipped, 2 errors" in out


@pytest.mark.slow
def test_a_failure_shows_reason_and_conversation_and_nothing_of_ours(project: Path) -> None:
    out = run_pytest(project, "refunds.suite.yaml", "--evals-agent", "shop:answer", "-k", "bad")

    assert "failed: Reply contains “zebra” (turn 1)" in out
    assert "user: Hello" in out
    assert "assistant: hello there" in out
    assert "Traceback" not in out
    assert "pytest_items.py" not in out


@pytest.mark.slow
def test_suites_in_folders_are_collected_only_if_the_project_asks(project: Path) -> None:
    assert "no tests ran" in run_pytest(project)

    (project / "pytest.ini").write_text("[pytest]\nevals = true\nevals_agent = shop:answer\n")

    assert "PASSED refunds.suite.yaml::good" in run_pytest(project, "-k", "smoke")


@pytest.mark.slow
def test_a_decorated_function_is_the_agent_of_a_suite(project: Path) -> None:
    (project / "test_shop.py").write_text(MODULE, encoding="utf-8")

    out = run_pytest(project, "-n", "2", "--evals-max-cost", "1")

    assert "PASSED test_shop.py::shop::good" in out
    assert "PASSED test_shop.py::other::one" in out
    assert "3 passed, 1 skipped" in out  # the gates are about the whole suite


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "tests the agent 'shop', which no file around it describes"),
        (("--evals-agent", "shop:anser"), "Write module:function"),
        (("--evals-agent", "shop:answer", "--evals-max-cost", "no"), "expected US dollars"),
        (("--evals-agent", "shop:answer", "--evals-trials", "1000"), "expected 1 to 100"),
    ],
)
def test_what_is_missing_is_an_error_that_teaches(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    out = run_pytest(project, "refunds.suite.yaml", *arguments)

    assert words in out
    assert " passed" not in out
    assert "INTERNALERROR" not in out


def test_the_plug_in_loads_nothing_of_ours_before_it_is_needed() -> None:
    code = (
        "import evals_app.code.pytest_plugin, sys;"
        "print(sorted(name for name in sys.modules if name.startswith(('evals_app', 'pydantic', 'django'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout.strip() == "['evals_app', 'evals_app.code', 'evals_app.code.pytest_plugin']"
