"""What tests of REST share."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="session")
def schema() -> Any:
    """The OpenAPI document: it takes a second to make."""
    generator: Any = SchemaGenerator
    return generator().get_schema(request=None, public=True)
