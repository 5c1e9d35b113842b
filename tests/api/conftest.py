"""What tests of REST share."""

from typing import Any

import pytest

from tests.requests.conftest import schema

__all__ = ["schema"]


@pytest.fixture
def no_limits(settings: Any) -> None:
    """Let a test send as many requests as it likes."""
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    unlimited = {"DEFAULT_THROTTLE_RATES": dict.fromkeys(rates)}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, **unlimited}
