"""What tests of REST share."""

from tests.requests.conftest import schema

__all__ = ["schema"]
