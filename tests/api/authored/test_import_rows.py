"""What files of other people come to: imported over REST, and run with an agent that echoes."""

from urllib.parse import urlencode

import pytest

from evals_app.models import Suite
from tests.api.clients import make_client
from tests.library.echoed_rows import ECHO, FILES, Echoed, checks_of
from tests.runs.suites import finished

pytestmark = pytest.mark.django_db

LEVELS = ("errors", "warnings", "guesses", "losses")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.about)
def test_files_mean_what_their_author_meant(file: Echoed) -> None:
    client = make_client()
    files = {"echo.agent.yaml": ECHO, file.path: file.content}
    body = {"files": [{"path": path, "content": content} for path, content in files.items()]}
    chosen = [f"{header}={meaning}" for header, meaning in file.chosen.items()]
    query = urlencode({"agent": "echo", "map_column": chosen}, doseq=True)

    response = client.post(f"/api/import/?{query}", body, format="json")

    answer = response.json()
    problems = [problem for level in LEVELS for problem in answer.get(level, [])]
    spec, read = file.read()
    assert {(problem["keys"], problem["message"]) for problem in problems} >= {
        (item.keys, item.message_in_rest) for item in read if spec or item.level != "loss"
    }
    assert all(any(words in problem["message"] for problem in problems) for words in file.words)
    if file.refused:
        assert response.status_code == 400
        assert tuple(error["keys"] for error in answer["errors"]) == file.refused
        assert not Suite.objects.exists()
        return
    assert response.status_code == 200, answer
    assert set(file.said) <= {problem["keys"] for problem in problems}
    suite = Suite.objects.get()
    if file.checks:  # there is no judge to run it
        assert checks_of(suite.to_spec()) == file.checks
        return
    executions = finished(suite).executions.order_by("position")
    assert tuple(item.verdict for item in executions) == file.verdicts
