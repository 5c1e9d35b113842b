"""What rows of other people come to: imported by command, and run with an agent that echoes."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Suite
from tests.library.echoed_rows import ECHO, FILES, Echoed
from tests.runs.suites import finished

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.about)
def test_rows_mean_what_their_author_meant(
    file: Echoed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("echo.agent.yaml").write_text(ECHO, encoding="utf-8")
    Path(file.path).write_text(file.content, encoding="utf-8")
    call_command("import_evals", "echo.agent.yaml", stdout=StringIO())
    err = StringIO()

    if file.refused:
        with pytest.raises(CommandError):
            call_command("import_evals", file.path, agent="echo", stderr=err, no_color=True)
        assert not Suite.objects.exists()
    else:
        call_command(
            *("import_evals", file.path), agent="echo", stdout=StringIO(), stderr=err, no_color=True
        )
        run = finished(Suite.objects.get())
        executions = run.executions.order_by("position")
        assert tuple(item.verdict for item in executions) == file.verdicts
    for place in (*file.refused, *file.said):
        assert f": {place}: " in err.getvalue()
