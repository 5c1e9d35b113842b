from collections.abc import Iterator

import pytest

from tests.engine.llm.makers import NOT_CHAT, FakeTime, Lab
from tests.model_server import ModelServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer(not_chat=[NOT_CHAT]) as server:
        yield server


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def lab(model_server: ModelServer, fake_time: FakeTime) -> Lab:
    return Lab(model_server, fake_time)
