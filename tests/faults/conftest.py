"""What tests of faults share."""

import pytest

from evals_app.engine.graders import GRADERS
from tests.faults.harm import Harm


@pytest.fixture
def harmful_environment(
    child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The environment of a worker that knows the grader `harm`; this process knows it too."""
    monkeypatch.setitem(vars(GRADERS), "_all", {**GRADERS, "harm": Harm})
    return child_environment | {"DJANGO_SETTINGS_MODULE": "tests.faults.harmful_settings"}
