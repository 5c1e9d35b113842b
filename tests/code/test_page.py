"""Every snippet of the page on evals as code runs as it is printed, one after the other."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from evals_app.code import suites

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "evals-as-code.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    snippets = FENCE.findall(PAGE.read_text(encoding="utf-8"))

    for language, text in snippets:
        first = text.partition("\n")[0]
        if re.fullmatch(r"# [\w./-]+\.\w+", first):
            file = tmp_path / first.removeprefix("# ")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, str(PAGE), "exec"), names)  # noqa: S102 - our own page

    assert len(snippets) > 4


def test_the_examples_in_docstrings_are_true() -> None:
    results = doctest.testmod(suites)

    assert (results.failed, results.attempted > 2) == (0, True)
