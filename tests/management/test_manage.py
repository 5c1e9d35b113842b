"""manage.py as a shell calls it: what is wrong with the set-up is one line and exit code 2."""

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import django
import pytest

from evals_app import __version__
from evalsite import command_line
from evalsite.command_help import GROUPS, overview
from evalsite.command_line import READ_NO_FURTHER

ROOT = Path(__file__).resolve().parent.parent.parent
COMMANDS = ROOT / "evals_app" / "management" / "commands"
NOWHERE = "postgresql://postgres:secret@127.0.0.1:1/nowhere"

pytestmark = pytest.mark.django_db(transaction=True)


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_reader_that_stops_ends_a_command_quietly(child_environment: dict[str, str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    ended = subprocess.run(
        [sys.executable, "manage.py", "help"],
        cwd=ROOT,
        env=child_environment,
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (READ_NO_FURTHER, b"")


@pytest.mark.parametrize(
    ("variables", "command", "words"),
    [
        pytest.param({"DATABASE_URL": NOWHERE}, "run_evals", "refused", id="no database"),
        pytest.param({"DATABASE_URL": NOWHERE}, "worker --check", "refused", id="none to ask"),
        ({"DATABASE_URL": f"{NOWHERE}?nonsense=1"}, "list_evals", "nonsense"),
        ({"DATABASE_URL": "sqlite:////nowhere/x.sqlite3"}, "migrate", "unable to"),
        pytest.param({"EVALS_LEASE_S": "abc"}, "run_evals", "EVALS_LEASE_S", id="no number"),
        pytest.param({"EVALS_MCP_SERVERS": "[1]"}, "worker", "EVALS_MCP_SERVERS", id="a list"),
        ({"EVALWELL_DATA_DIR": "/dev/null"}, "migrate", "EVALWELL_DATA_DIR"),
        pytest.param({}, "run_eval", "Did you mean run_evals?", id="unknown command"),
        pytest.param({"EVALWELL_WORKERS": "0"}, "run_eval", "WORKERS", id="settings first"),
        pytest.param({}, "serve --bind 8151", "8151", id="a port alone"),
    ],
)
def test_a_wrong_set_up_is_one_line_and_exit_code_2(
    child_environment: dict[str, str], variables: dict[str, str], command: str, words: str
) -> None:
    done = manage(child_environment | variables, *command.split())

    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize("command", ["import_evals examples", "worker", "serve"])
def test_a_database_that_is_not_migrated_is_exit_code_2(
    child_environment: dict[str, str], tmp_path: Path, command: str
) -> None:
    empty = {"DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    more = ["--bind", address] if command == "serve" else []

    done = manage(child_environment | empty, *command.split(), *more)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "evalwell migrate" in done.stderr


def test_settings_that_a_check_refuses_are_exit_code_2(child_environment: dict[str, str]) -> None:
    done = manage(child_environment | {"EVALS_LEASE_S": "5"}, "run_evals")

    assert done.returncode == 2
    assert "EVALS_LEASE_S" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_a_fault_comes_from_can_be_asked(child_environment: dict[str, str]) -> None:
    done = manage(child_environment | {"DATABASE_URL": NOWHERE}, "list_evals", "--traceback")

    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("command", "needs_none"),
    [
        ("", True),
        ("help", True),
        ("--version", True),
        ("serve --help", True),
        ("init evals", True),
        ("connect laptop", True),
        ("migrate", False),
        ("list_evals", False),
    ],
)
def test_a_command_that_needs_no_site_writes_none_where_it_is_started(
    monkeypatch: pytest.MonkeyPatch, command: str, *, needs_none: bool
) -> None:
    monkeypatch.setenv("EVALWELL_DATA_DIR", "")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    with ExitStack() as stack:
        command_line.prepare(command.split(), stack)
        data = Path(os.environ["EVALWELL_DATA_DIR"])

        assert (data.parent == Path(tempfile.gettempdir())) == needs_none
    assert not (needs_none and data.exists())


@pytest.mark.slow
def test_what_is_written_is_for_its_user_alone(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    environment = {
        **child_environment,
        "EVALWELL_DATA_DIR": str(data),
        "DATABASE_URL": f"sqlite:///{data / 'evalwell.sqlite3'}",
    }

    for command in ("migrate --verbosity 0", "import_evals examples/letters", "list_evals"):
        assert manage(environment, *command.split()).returncode == 0
    exported = tmp_path / "exported"
    assert manage(environment, "export_evals", "--dir", str(exported)).returncode == 0

    written = [exported, *data.rglob("*"), *exported.rglob("*")]
    assert len(written) > 5
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in written}
    assert [name for name, mode in modes.items() if mode & 0o077] == []


def variables_in(page: str, *, after: str) -> dict[str, str]:
    """Return the variables of the first block below a heading."""
    _, _, part = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(after)
    lines = part.split("```sh\n")[1].split("```")[0].split("\n")
    return dict(line.strip().split("=", 1) for line in lines if line.strip())


def test_check_has_nothing_to_say_to_the_documented_set_up_with_the_sign_in_of_a_company(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    site = variables_in("operations.md", after="## Recipe 1")
    company = variables_in("sign-in.md", after="## Through your company")
    data = {"EVALWELL_DATA_DIR": str(tmp_path / "data")}

    done = manage(
        child_environment | site | company | data, "check", "--deploy", "--fail-level", "WARNING"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("System check identified no issues (")
    assert site["EVALWELL_HTTPS"] == "1"
    assert {"EVALWELL_OIDC_ISSUER", "EVALWELL_GROUP_ROLES"} <= company.keys()


def test_the_overview_lists_our_commands_and_no_other(child_environment: dict[str, str]) -> None:
    ours = {path.stem for path in COMMANDS.glob("[!_]*.py")}
    listed = {name for group in GROUPS.values() for name in group}

    assert listed - ours == {"migrate", "createsuperuser", "changepassword", "check"}
    assert ours <= listed
    for arguments in ([], ["--help"], ["help"]):
        shown = manage(child_environment, *arguments)
        assert shown.stdout.strip() == overview("manage.py")


def test_the_commands_of_django_are_below_its_name(child_environment: dict[str, str]) -> None:
    listed = manage(child_environment, "django")
    assert "dumpdata" in listed.stdout
    assert "manage.py django help" in listed.stdout

    called = manage(child_environment, "django", "showmigrations", "contenttypes")
    assert "0001_initial" in called.stdout


def test_the_version_is_our_own(child_environment: dict[str, str]) -> None:
    assert manage(child_environment, "--version").stdout.startswith(f"Evalwell {__version__} (")
    assert manage(child_environment, "django", "--version").stdout.strip() == django.get_version()
