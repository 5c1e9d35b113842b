from collections.abc import Iterator

import pytest

from evals_app.engine.basics.permits import permits
from tests.engine.permitting import permitting

NAMED = ("SUPPORT_KEY", "TEAM_KEY", "OPENAI_API_KEY@proxy.example.org")


@pytest.fixture(autouse=True)
def _keys_that_files_name() -> Iterator[None]:
    with permitting(keys=(*permits().keys, *NAMED)):
        yield
