"""What rows of other people come to: imported over REST, and run with an agent that echoes."""

import pytest

from evals_app.models import Suite
from tests.api.clients import make_client
from tests.library.echoed_rows import ECHO, FILES, Echoed
from tests.runs.suites import finished

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.about)
def test_rows_mean_what_their_author_meant(file: Echoed) -> None:
    client = make_client()
    files = {"echo.agent.yaml": ECHO, file.path: file.content}
    body = {"files": [{"path": path, "content": content} for path, content in files.items()]}

    response = client.post("/api/import/?agent=echo", body, format="json")

    answer = response.json()
    if file.refused:
        assert response.status_code == 400
        assert tuple(error["keys"] for error in answer["errors"]) == file.refused
        assert not Suite.objects.exists()
        return
    assert response.status_code == 200, answer
    said = {problem["keys"] for problem in (*answer["warnings"], *answer["losses"])}
    assert set(file.said) <= said
    executions = finished(Suite.objects.get()).executions.order_by("position")
    assert tuple(item.verdict for item in executions) == file.verdicts
