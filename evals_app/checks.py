"""System checks: settings under which runs could be lost are refused before anything starts.

A worker loop and its last execution must end before the queue's timeout, which must be shorter than
its retry time; otherwise django-q2 kills working processes, or delivers a ticket twice. The
numbers:

* `timeout` 90,000: a backstop that is never reached (a worker loop takes nothing new after a day).
* `retry` 100,000: counted from the moment a ticket is pulled into memory.
* `max_attempts` 1 and `ack_failures`: the rows decide what is repeated, never the queue.
* a lease outlasts its heartbeats and the longest wait for a locked SQLite database.
"""

import os
import re
import shlex
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's name

from evals_app.engine.basics.permits import is_ours, permits
from evals_app.engine.basics.plugins import find_plugins
from evals_app.engine.graders import GRADERS
from evals_app.engine.graders.measures.wordnet import WordNet
from evals_app.engine.llm.judge_plugins import judge_plugins
from evals_app.engine.network.provider_kinds import KINDS
from evals_app.models.people.roles import BUILT_IN
from evals_app.reports.words.report_plugins import report_plugins
from fixtures_app.ground.words import nearest

# What our commands check before they start. All checks would load the pages, which takes a second.
FOR_COMMANDS = ["runs", "keys", "environment"]

REQUIRED = {"max_attempts": 1, "ack_failures": True, "bulk": 1, "catch_up": False}


@register("runs")
def queue_settings(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Refuse queue and lease settings whose deadlines are out of order."""
    queue = settings.Q_CLUSTER
    own = settings.EVALS_SHIFT_S + settings.EVALS_EXECUTION_S
    timeout, retry = queue["timeout"], queue["retry"]
    if not own < timeout:
        yield Error(
            f"The queue's timeout ({timeout} s) must be above EVALS_SHIFT_S + EVALS_EXECUTION_S "
            f"({own:g} s), or workers are killed at work.",
            id="evals_app.E001",
        )
    if not retry > timeout:
        yield Error(
            f"The queue's retry ({retry} s) must be above its timeout ({timeout} s), "
            "or a ticket is handed out again while it is worked on.",
            id="evals_app.E002",
        )
    for name, value in REQUIRED.items():
        if queue.get(name) != value:
            yield Error(
                f"Q_CLUSTER[{name!r}] must be {value!r}: the rows decide what is repeated.",
                id="evals_app.E004",
            )
    busy = settings.DATABASES["default"].get("OPTIONS", {}).get("timeout", 0)
    renewal = settings.EVALS_HEARTBEAT_S + settings.EVALS_PULSE_S + busy
    if not renewal < settings.EVALS_LEASE_S:
        waits = f" and EVALWELL_SQLITE_TIMEOUT_S ({busy:g} s)" if busy else ""
        yield Error(
            f"EVALS_LEASE_S ({settings.EVALS_LEASE_S:g} s) must be above the sum of "
            f"EVALS_HEARTBEAT_S ({settings.EVALS_HEARTBEAT_S:g} s), EVALS_PULSE_S "
            f"({settings.EVALS_PULSE_S:g} s){waits}, or workers at work are considered dead.",
            id="evals_app.E005",
        )


# NAME, NAME* or *, then perhaps @host, @*.host or @host:port.
_KEY_ENTRY = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_]*\*?|\*)(?:@(?:\*\.)?(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(?::[0-9]+)?)?"
)


# The settings that permit variables, each with an example of an entry.
_LISTS = {
    "EVALS_KEY_VARIABLES": "OPENAI_API_KEY@gateway.example.org",
    "EVALS_HEADER_VARIABLES": "AGENT_KEY@agent.example.org",
}


@register("keys")
def permitted_variables(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Refuse entries that permit nothing, or something unintended."""
    for setting, example in _LISTS.items():
        for number, entry in enumerate(getattr(settings, setting), 1):
            if not _KEY_ENTRY.fullmatch(entry):  # not repeated: it may be a key
                yield Error(
                    f"Entry {number} of {setting} cannot be read; expected NAME, NAME* or"
                    f" NAME@host, for example {example}.",
                    id="evals_app.E006",
                )
            elif is_ours(entry):
                yield Warning(
                    f"{setting} has {entry!r}, which is about this site: it is never sent.",
                    id="evals_app.W004",
                )


@register("security", deploy=True)
def variables_without_hosts(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn of keys that people who write agents and providers could send to any server."""
    known = permits()
    usual = {kind.key_env for kind in KINDS.values()}  # sent only to their own hosts
    for setting, hosts_of in (
        ("EVALS_KEY_VARIABLES", known.key_hosts),
        ("EVALS_HEADER_VARIABLES", known.variable_hosts),
    ):
        for name in sorted(os.environ.keys() - usual):
            if "" in hosts_of(name):
                yield Warning(
                    f"{setting} permits {name} without a host: whoever may write "
                    f"{'providers' if 'KEY' in setting else 'agents'} can send it to any server.",
                    hint=f"List it as {name}@HOST.",
                    id="evals_app.W006",
                )


@register("graders")
def wordnet_files(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn if the WordNet folder exists but lacks files that METEOR needs."""
    folder = Path(settings.EVALS_WORDNET)
    if not folder.is_dir():
        return
    try:
        WordNet(folder)
    except (OSError, ValueError) as error:
        yield Warning(
            f"EVALS_WORDNET ({folder}) has not all files of WordNet, so METEOR gives no grade: "
            f"{error}",
            id="evals_app.W001",
        )


@register("security")
def private_database(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn of a database file that other users of this machine can read."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] != "django.db.backends.sqlite3":
        return
    file = Path(database["NAME"])
    # Made by an older version, or restored from a backup: files that we write are private.
    if file.exists() and file.stat().st_mode & 0o077 and file.parent.stat().st_mode & 0o011:
        yield Warning(
            f"Other users of this machine can read the database, {file}.",
            hint=f"chmod 600 {shlex.quote(str(file))}*",
            id="evals_app.W002",
        )


@register("security")
def trusted_proxies(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn where a proxy ends TLS and all users behind it would count as one address."""
    if settings.SECURE_PROXY_SSL_HEADER and not settings.REST_FRAMEWORK["NUM_PROXIES"]:
        yield Warning(
            "EVALWELL_HTTPS is set, so a proxy passes requests on, and EVALWELL_PROXIES is 0: "
            "all users count as one address, and failed sign-ins of one lock out the others.",
            hint="Set EVALWELL_PROXIES to the number of your proxies; each must add to "
            "X-Forwarded-For where a request came from.",
            id="evals_app.W003",
        )


@register("security")
def ways_to_sign_in(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Refuse a site that no one can sign in to, and warn of roles that groups cannot give."""
    is_open_from_outside = settings.IDENTITY_PROVIDER or settings.PROXY_SIGN_IN
    if not (settings.PASSWORDS or is_open_from_outside):
        yield Error(
            "EVALWELL_PASSWORDS is off, and there is no other way to sign in.",
            hint="Set EVALWELL_OIDC_ISSUER or EVALWELL_PROXY_USER_HEADER: docs/sign-in.md.",
            id="evals_app.E007",
        )
    if settings.GROUP_ROLES and not is_open_from_outside:
        yield Warning(
            "EVALWELL_GROUP_ROLES has no effect: no one says which groups people are in.",
            hint="Set EVALWELL_OIDC_ISSUER or EVALWELL_PROXY_USER_HEADER: docs/sign-in.md.",
            id="evals_app.W007",
        )
    for role in sorted({role for roles in settings.GROUP_ROLES.values() for role in roles}):
        meant = nearest(role, list(BUILT_IN))
        if role not in BUILT_IN and meant:
            yield Warning(
                f"EVALWELL_GROUP_ROLES gives the role {role!r}, which no new site has.",
                hint=f"Did you mean {meant}? Otherwise add the role under Roles.",
                id="evals_app.W008",
            )


@register("plugins")
def broken_plugins(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn of plug-ins that cannot be used: the site works without them.

    Commands do not check this: each loads the plug-ins that it needs.
    """
    # Not above: commands that check no plug-ins would load every format.
    from evals_app.formats.reader_plugins import (  # noqa: PLC0415
        reader_conflicts,
        reader_plugins,
    )

    found = (
        *(GRADERS.offers, judge_plugins(), reader_plugins()),
        *(report_plugins(), find_plugins("agents")),
    )
    for problem in chain.from_iterable(offered.problems.values() for offered in found):
        yield Warning(problem, hint="docs/plugins.md has an example.", id="evals_app.W006")
    for conflict in reader_conflicts():
        hint = "Uninstall one of the packages, or choose the format with each import."
        yield Warning(conflict, hint=hint, id="evals_app.W009")


@register("environment")
def unknown_variables(app_configs: object, **_: object) -> Iterable[CheckMessage]:  # noqa: ARG001
    """Warn of misspelt environment variables, which have no effect."""
    for name, near in settings.UNKNOWN_VARIABLES.items():
        yield Warning(
            f"The environment variable {name} has no effect: there is no such setting.",
            hint=f"Did you mean {near}?" if near else "docs/operations.md lists all of them.",
            id="evals_app.W005",
        )
