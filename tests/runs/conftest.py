"""What tests of runs share."""

import pytest

from evals_app.models import Provider
from tests.model_server import KEY, ModelServer
from tests.runs.suites import KEY_VARIABLE


@pytest.fixture
def server(db: None, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """A model API that the provider `local` names."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    Provider.objects.create(
        slug="local",
        name="Local",
        kind="anthropic",
        base_url=model_server.url,
        api_key_env=KEY_VARIABLE,
    )
    return model_server
