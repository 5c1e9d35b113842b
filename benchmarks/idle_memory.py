"""What a site holds in memory while nothing happens, process by process.

    python -m benchmarks.idle_memory                        `serve` on SQLite; web server and worker on PostgreSQL
    python -m benchmarks.idle_memory --database sqlite      one of them

A site is started as docs/operations.md has it, its pages are opened, 60 conversations with a model
run, and the MCP server answers. Then memory is read from /proc: PSS, which divides what processes
share among them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.cookiejar import CookieJar
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table

from benchmarks.processes import ROOT, pss_mb, tree
from benchmarks.runs import SERVER, SUITE, model_server, single
from benchmarks.sites import KINDS, Kind, Site, command, filled_site

CASES = 60
IDLE_S = 60  # as in evals_app/runs/ground/queues.py
BIND = "127.0.0.1:8993"
SITE = f"http://{BIND}"
UNIT = ROOT / "docs" / "deploy" / "evalwell-web.service"
PAGES = ("admin/", *(f"admin/evals_app/{name}/" for name in ("run", "suite", "execution", "agent")))
PERSON = """
from django.contrib.auth.models import User
from evals_app.models import ApiToken
person = User.objects.create_superuser("benchmark", password="benchmark")
print("TOKEN", ApiToken.issue(user=person, name="benchmark", scope="author")[1])
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def measure(kind: Kind, *, rounds: int, asks_mcp: bool) -> Table:
    """Start a site, use it, and lay out what each of its processes holds."""
    variables = {"ANTHROPIC_API_KEY": "benchmark"}
    with ExitStack() as stack:
        variables["ANTHROPIC_BASE_URL"] = stack.enter_context(model_server(0))
        files = single(CASES, CASES)
        site = stack.enter_context(
            filled_site(kind, files=files, variables=variables, server=SERVER)
        )
        token = _token(site)
        roots = [stack.enter_context(_process(line, site)) for line in _commands(kind)]
        _await_site()
        fresh = _sizes(roots)
        site.manage("run_evals", SUITE, "--no-progress")
        for _ in range(rounds):
            _use(token, asks_mcp=asks_mcp)
        time.sleep(IDLE_S + 10)  # processes that have worked are replaced
        return _table(kind, fresh, _sizes(roots))


def _commands(kind: Kind) -> Sequence[Sequence[str]]:
    """Return the commands of a site, as its recipe has them."""
    if kind == "sqlite":
        return [command("serve", "--bind", BIND)]
    line = re.search(r"^ExecStart=\S+ (.*)", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert line is not None  # noqa: S101 - the unit has a command
    options = line[1].replace("127.0.0.1:8000", BIND).split()
    return [[sys.executable, "-m", "gunicorn", *options], command("worker")]


@contextmanager
def _process(line: Sequence[str], site: Site) -> Iterator[int]:
    with subprocess.Popen(  # noqa: S603 - commands of ours
        line, cwd=ROOT, env=site.environment, stdout=subprocess.DEVNULL
    ) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def _await_site() -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{SITE}/readyz", timeout=5).close()  # noqa: S310 - this machine
        except OSError:  # not yet, or busy
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("The site did not start.")


def _token(site: Site) -> str:
    line = [*command("shell", "--verbosity", "0", "--command"), PERSON]
    ran = subprocess.run(  # noqa: S603 - ours
        line, cwd=ROOT, env=site.environment, check=True, capture_output=True, text=True
    )
    return ran.stdout.split("TOKEN")[-1].strip()


def _use(token: str, *, asks_mcp: bool) -> None:
    """Sign in and open pages, as a person does; ask REST and MCP, as programs do."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    login = f"{SITE}/admin/login/"
    page = browser.open(login).read().decode()
    secret = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert secret is not None  # noqa: S101 - every form has one
    form = {"username": "benchmark", "password": "benchmark", "csrfmiddlewaretoken": secret[1]}
    browser.open(login, urlencode(form).encode()).read()
    for path in PAGES:
        browser.open(f"{SITE}/{path}").read()
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    asked = {"api/runs/": None} | ({"mcp/": json.dumps(HELLO).encode()} if asks_mcp else {})
    for path, body in asked.items():
        urllib.request.urlopen(urllib.request.Request(f"{SITE}/{path}", body, headers)).read()  # noqa: S310 - this machine


def _sizes(roots: Sequence[int]) -> dict[int, float]:
    return {pid: pss_mb(pid) for root in roots for pid in tree(root)}


def _table(kind: Kind, fresh: dict[int, float], used: dict[int, float]) -> Table:
    table = Table(title=f"idle memory on {kind}, MB of PSS", title_justify="left")
    for name in ("process", "at the start", "after use"):
        table.add_column(name, justify="left" if name == "process" else "right", no_wrap=True)
    for pid, size in used.items():
        table.add_row(_title(pid), f"{fresh.get(pid, 0):.0f}", f"{size:.0f}")
    table.add_row("together", f"{sum(fresh.values()):.0f}", f"{sum(used.values()):.0f}")
    return table


def _title(pid: int) -> str:
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().decode().split("\0")  # noqa: PTH123, SIM115
        threads = len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
    except OSError:
        return "ended"
    named = next((word for word in words if word in {"serve", "worker", "gunicorn"}), "")
    return f"{pid} {named or ' '.join(words)[-40:]}, {threads} threads"


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rounds", type=int, default=20, help="How often the pages are opened.")
    parser.add_argument("--without-mcp", action="store_true", help="Ask the MCP server nothing.")
    given = parser.parse_args()
    for kind in given.database:
        Console(width=120).print(measure(kind, rounds=given.rounds, asks_mcp=not given.without_mcp))


if __name__ == "__main__":
    main()
