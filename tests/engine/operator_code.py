"""Modules as an operator writes them, found over PYTHONPATH and permitted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from tests.engine.permitting import permitting

_numbers = count()  # a name is never used twice: what is found is known for a while


class OperatorCode:
    """Writes modules into a package that is permitted as a whole."""

    def __init__(self, folder: Path) -> None:
        # Nothing else in this process, or on this machine, has a package of that name.
        self.package = f"operator_{os.getpid()}_{next(_numbers)}"
        self.folder = folder
        self._folder = folder / self.package
        self._folder.mkdir()
        (self._folder / "__init__.py").touch()

    def write(self, code: str, *, name: str | None = None) -> str:
        """Write a module and give its name."""
        name = name or f"module_{next(_numbers)}"
        (self._folder / f"{name}.py").write_text(dedent(code))
        return f"{self.package}.{name}"

    def function(self, code: str) -> str:
        """Write a module that defines `it`, and give the reference to that."""
        return f"{self.write(code)}:it"


@contextmanager
def operator_code_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorCode]:
    monkeypatch.setenv("PYTHONPATH", str(folder))
    code = OperatorCode(folder)
    with permitting(modules=(code.package,)):
        yield code
