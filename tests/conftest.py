"""What all tests share: the site they run on, servers that may be missing, and the browser.

The environment is set before Django reads its settings, and from nothing but this file: a test
run neither sees the operator's data nor a key that costs money.
"""

import gc
import os
import shutil
import socket
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import quote, urlsplit

import django
import hypothesis
import pytest
from django.apps import apps
from django.conf import settings
from django.core import serializers
from django.core.cache import caches
from django.db import connection, connections
from django.db.models.signals import post_migrate
from playwright.sync_api import Page, expect, sync_playwright
from pytest_django.plugin import DjangoDbBlocker

from tests.browser import CHROMIUM_ARGUMENTS, CHROMIUMS, chromium
from tests.model_server import ModelServer
from tests.offered import Offer, forget_plugins, offer_plugins
from tests.tiers import Tiers

ROOT = Path(__file__).resolve().parent.parent
TEST_DATABASE = "EVALWELL_TEST_DATABASE_URL"
POSTGRES_ADDRESS = ("127.0.0.1", 5432)
REDIS_ADDRESS = ("127.0.0.1", 6379)

if settings.configured:
    raise pytest.UsageError("Unset DJANGO_SETTINGS_MODULE: the tests set it after what it reads.")

# Other tests run beside them, so no example has a deadline. The same examples each time: a test run
# says whether something was broken. Looking for new ones: --hypothesis-profile exploring.
hypothesis.settings.register_profile(
    "same each time", deadline=None, max_examples=50, derandomize=True
)
hypothesis.settings.register_profile("exploring", deadline=None, max_examples=500)
hypothesis.settings.load_profile("same each time")

OURS = ("EVALWELL_", "EVALS_", "OTEL_")
DATA = Path(tempfile.mkdtemp(prefix="evalwell-tests-"))
given_database = os.environ.get(TEST_DATABASE)
for name in list(os.environ):
    if name.startswith(OURS) or name.endswith(("_API_KEY", "_BASE_URL")):
        del os.environ[name]
os.environ.pop("DATABASE_URL", None)
if given_database is not None:
    os.environ[TEST_DATABASE] = os.environ["DATABASE_URL"] = given_database
os.environ["EVALWELL_DATA_DIR"] = str(DATA)
# Our model servers are called by this name; by any other, this machine is refused as on every site.
os.environ["EVALS_PRIVATE_HOSTS"] = "localhost"
os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"

DATABASE = settings.DATABASES["default"]
IS_POSTGRESQL = DATABASE["ENGINE"] == "django.db.backends.postgresql"
if IS_POSTGRESQL:
    # Two test runs may share the server, and a kept connection would forbid dropping the database.
    DATABASE |= {"TEST": {"NAME": f"test_evalwell_{os.getpid()}"}, "CONN_MAX_AGE": 0}
else:
    # A file, not memory: live servers and worker processes open the same database.
    DATABASE["TEST"] = {"NAME": str(DATA / "test.sqlite3")}
# A process that runs thousands of tests grows larger than a worker may.
settings.Q_CLUSTER["max_rss"] *= 10
# Each client of a test has middleware of its own, which would list all static files: 0.05 s a test.
settings.WHITENOISE_AUTOREFRESH = True
# Servers of tests collect static files; the pages of this process do not name those.
settings.STORAGES["staticfiles"] = {
    "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
}
django.setup()
# Processes that run tests side by side inherit the environment, and set it by this very file.
del os.environ["DJANGO_SETTINGS_MODULE"]

from django.contrib.auth.hashers import PBKDF2PasswordHasher  # noqa: E402 - needs the settings
from django.template.base import Template  # noqa: E402
from django.template.context import Context  # noqa: E402
from django.test.signals import template_rendered  # noqa: E402

# Hashing slowly is the point of a password hasher, and takes half a second for each test user.
PBKDF2PasswordHasher.iterations = 1


def _render(template: Template, context: Context) -> str:
    """Tell the test's client of a template and its context, but not of each that it includes."""
    if context.template is template:
        template_rendered.send(sender=template, template=template, context=context)
    return template.nodelist.render(context)


django.test.utils.instrumented_test_render = _render  # type: ignore[attr-defined]


TIERS = Tiers()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TIERS)


def pytest_xdist_auto_num_workers() -> int:
    """Have one process more than cores: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Search for garbage seldom, and never in modules and tests: it would take a sixth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    shutil.rmtree(DATA, ignore_errors=True)


# What may be missing


def _answers(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


def _reasons_to_leave_out() -> dict[str, str]:
    """Return the marks whose tests cannot run here, each with the reason."""
    reasons = {}
    if chromium() is None:
        reasons["browser"] = f"no Chromium found (tried {', '.join(CHROMIUMS)})"
    if not IS_POSTGRESQL:
        host, port = POSTGRES_ADDRESS
        reasons["postgres"] = (
            f"this run is on SQLite; set {TEST_DATABASE} (make test-rest runs them)"
            if _answers(POSTGRES_ADDRESS)
            else f"no PostgreSQL answers at {host}:{port}, and {TEST_DATABASE} is not set"
        )
    if not _answers(REDIS_ADDRESS):
        host, port = REDIS_ADDRESS
        reasons["redis"] = f"no Redis answers at {host}:{port}"
    return reasons


@pytest.hookimpl(wrapper=True)  # marks before tests are chosen by them, the order after all others
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    TIERS.mark(items)
    reasons = _reasons_to_leave_out()
    for item in items:
        for mark, reason in reasons.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"{mark}: {reason}"))
    yield
    # They wait for processes of their own: one after the other, beside tests that compute.
    items.sort(key=lambda item: item.path.parent.name not in ("faults", "benchmarks"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = str(report.longrepr[-1]).removeprefix("Skipped: ")  # after path and line
        counts[reason] = counts.get(reason, 0) + 1
    for reason, number in sorted(counts.items()):
        terminalreporter.write_line(f"Left out: {number} test(s), {reason}", yellow=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The test database; a test that empties it leaves the rows that migrations write."""
    ours = (apps.get_app_config(app).get_models() for app in ("evals_app", "fixtures_app"))
    managers = [model._default_manager for model in chain(*ours)]  # noqa: SLF001 - documented
    with django_db_blocker.unblock():
        written = serializers.serialize("json", chain(*(manager.all() for manager in managers)))

    def restore(using: str, plan: object = None, **_: object) -> None:
        if plan is None:  # emptied, not migrated
            for row in serializers.deserialize("json", written, using=using):
                row.save()

    post_migrate.connect(restore, sender=apps.get_app_config("evals_app"), weak=False)


@pytest.fixture(autouse=True)
def uncounted() -> None:
    """No test is held up by the requests of the tests before it."""
    caches["throttles"].clear()


@pytest.fixture
def redis_url() -> str:
    """A Redis database for a test marked `redis`; not the one that others use by default."""
    host, port = REDIS_ADDRESS
    # One for each process that runs tests.
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return f"redis://{host}:{port}/{15 - int(number) % 8}"


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A model API on this machine."""
    with ModelServer() as server:
        yield server


# Processes beside the test


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """The environment for `manage.py` in a child process that shares the test's database."""
    name = connection.settings_dict["NAME"]  # the test database's, by now
    if IS_POSTGRESQL:
        address = urlsplit(os.environ[TEST_DATABASE])._replace(path="/" + quote(name)).geturl()
    else:
        address = f"sqlite:///{quote(str(name))}"
    return {**os.environ, "DATABASE_URL": address}


# Browser


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Offer plug-ins in a group, as installed packages do: `offer("judges", mine="module:name")`."""
    yield partial(offer_plugins, monkeypatch)
    monkeypatch.undo()
    forget_plugins()


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page of a fresh Chromium, for tests marked `browser`.

    Playwright starts and ends with each test: while it runs, its event loop holds the thread, and
    neither a task nor the ORM would work in the tests that follow. What a browser test itself needs
    done without that loop goes through `tests.elsewhere`.
    """
    # The test itself is synchronous; Django only sees the loop of Playwright in its thread.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=list(CHROMIUM_ARGUMENTS)
        )
        page = browser.new_page()
        # Generous: other tests run beside it.
        page.set_default_timeout(20_000)
        expect.set_options(timeout=20_000)
        yield page
        browser.close()
        # While a loop runs, asgiref gives the thread connections of its own; nobody sees them later.
        connections.close_all()
