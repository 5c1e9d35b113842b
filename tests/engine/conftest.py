from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.operator_code import OperatorCode, operator_code_in


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def operator_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorCode]:
    """Write modules that code graders and Python agents may name."""
    with operator_code_in(tmp_path, monkeypatch) as code:
        yield code
