"""What short commands cost, in CPU seconds, beside a bare loop that makes the same model calls.

    python -m benchmarks.startup                    20 cases, five rounds
    python -m benchmarks.startup --rounds 1 --cases 3

Each round measures every process once, one after the other; the table shows medians over the rounds
and medians of the rounds' ratios. The model server answers at once. promptfoo is measured too where it
is installed.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.bare_loop import APIS
from benchmarks.processes import measured
from benchmarks.runs import SERVER, SUITE, model_server, single
from benchmarks.sites import Site, clean_environment, command, copy_of, filled_site

START, LOOP = "bare loop, no call", "bare loop"
LIST, IMPORT, RUN, FILES = "list_evals", "import_evals --dry-run", "run_evals", "run_evals PATH"
PROMPTFOO = "promptfoo eval"
# What each may cost, as a multiple of which process.
GOALS = {LIST: (0.5, START), IMPORT: (0.5, START), RUN: (1.3, LOOP), FILES: (1.3, LOOP)}
_PROMPTFOO_QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}


@dataclass(frozen=True)
class Figures:
    """The CPU seconds of each process, one for each round."""

    api: str
    rounds: Sequence[Mapping[str, float]]

    def cpu_s(self, name: str) -> float:
        return median(costs[name] for costs in self.rounds)

    def ratio(self, name: str, reference: str) -> float:
        return median(costs[name] / costs[reference] for costs in self.rounds)


def compare(api: str, *, cases: int, rounds: int) -> Figures:
    """Measure every process, with the models of one API."""
    with model_server(0) as url, _site(api, url, cases) as site:
        if rounds > 1:
            _round(api, url, site, cases)  # compiles what is imported for the first time
        return Figures(api, [_round(api, url, site, cases) for _ in range(rounds)])


def _site(api: str, url: str, cases: int) -> AbstractContextManager[Site]:
    files = single(cases, cases)
    agent = files["benchmark.agent.yaml"].replace("anthropic/", f"{api}/")
    base_url = {"anthropic": url, "openai": f"{url}/v1"}[api]
    variables = {f"{api.upper()}_API_KEY": "benchmark", f"{api.upper()}_BASE_URL": base_url}
    return filled_site(
        "sqlite", files=files | {"benchmark.agent.yaml": agent}, variables=variables, server=SERVER
    )


def _round(api: str, url: str, original: Site, cases: int) -> dict[str, float]:
    loop = [sys.executable, "benchmarks/bare_loop.py", "--api", api, "--url", url, "--calls"]
    with copy_of(original, server=SERVER) as site:
        suite = str(original.folder / "files" / "benchmark.suite.yaml")
        figures = {
            START: _cpu_s([*loop, "0"], clean_environment()),
            LIST: _cpu_s(command("list_evals"), site.environment),
            IMPORT: _cpu_s(command("import_evals", "--dry-run", suite), site.environment),
            LOOP: _cpu_s([*loop, str(cases)], clean_environment()),
            RUN: _cpu_s(command("run_evals", SUITE, "--no-progress"), site.environment),
            FILES: _cpu_s(_run_of_files(original), _environment_without_site(original)),
        }
        if program := shutil.which("promptfoo"):
            config = _promptfoo_config(site.folder, api=api, url=url, cases=cases)
            evaluate = [program, "eval", "--no-cache", "--no-table", "--config", str(config)]
            figures[PROMPTFOO] = _cpu_s(evaluate, clean_environment() | _PROMPTFOO_QUIET)
    return figures


def _run_of_files(site: Site) -> Sequence[str]:
    output = str(site.folder / "out.json")
    return command("run_evals", str(site.folder / "files"), "--no-progress", "--output", output)


def _environment_without_site(site: Site) -> dict[str, str]:
    """Return an environment that names no data, with a folder of its own for what commands keep."""
    own = {"EVALWELL_LOG_LEVEL": "WARNING", "XDG_CACHE_HOME": str(site.folder / "cache")}
    return {**clean_environment(), **site.variables, **own}


def _cpu_s(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    return measured(arguments, environment).cpu_s


def _promptfoo_config(folder: Path, *, api: str, url: str, cases: int) -> Path:
    """Write the same cases and the same check for promptfoo."""
    model = {"anthropic": "anthropic:messages:benchmark", "openai": "openai:chat:benchmark"}[api]
    address = {"anthropic": url, "openai": f"{url}/v1"}[api]
    config = folder / "promptfooconfig.json"
    check = {"type": "icontains", "value": "parcel"}
    document = {
        "prompts": ["Where is parcel P-{{number}}?"],
        "providers": [{"id": model, "config": {"apiBaseUrl": address, "apiKey": "benchmark"}}],
        "tests": [{"vars": {"number": n}, "assert": [check]} for n in range(cases)],
    }
    config.write_text(json.dumps(document), encoding="utf-8")
    return config


def show(figures: Sequence[Figures], console: Console) -> None:
    """Print a table for each API."""
    for one in figures:
        table = Table("process", "CPU s", "ratio", "of", "goal", title=f"SDK: {one.api}")
        for name in (START, LIST, IMPORT, LOOP, RUN, FILES):
            goal, reference = GOALS.get(name, (None, ""))
            ratio = f"{one.ratio(name, reference):.2f}" if reference else ""
            most = "" if goal is None else f"at most {goal}"
            table.add_row(name, f"{one.cpu_s(name):.2f}", ratio, reference, most)
        if PROMPTFOO in one.rounds[0]:
            ratio = f"{one.ratio(RUN, PROMPTFOO):.2f}"
            table.add_row(PROMPTFOO, f"{one.cpu_s(PROMPTFOO):.2f}", ratio, RUN, "below 1")
        console.print(table)
    if PROMPTFOO not in figures[0].rounds[0]:
        console.print("promptfoo is not installed, so it was not measured.")


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--api", nargs="+", choices=APIS, default=list(APIS))
    given = parser.parse_args()
    show(
        [compare(api, cases=given.cases, rounds=given.rounds) for api in given.api],
        Console(),
    )


if __name__ == "__main__":
    main()
