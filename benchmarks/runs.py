"""How long runs take and what they cost, beside a loop of the same calls that stores nothing.

    python -m benchmarks.runs                       every scenario, sizes as in README.md
    python -m benchmarks.runs single --cases 100    one scenario, small

Each round measures every way of running once, one after the other, on fresh copies of the site;
tables show medians over the rounds, and medians of the rounds' ratios. A round before the first one
warms up and measures memory; its times do not count.
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.bare_loop import SYSTEM, question
from benchmarks.processes import ROOT, Cost, cpu_s, measured
from benchmarks.sites import KINDS, Kind, Site, clean_environment, command, copy_of, filled_site

SUITE = "benchmark"
SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"
BARE, EMBEDDED, STANDING = "bare loop", "run_evals", "run_evals + worker"


# What is run.


@dataclass(frozen=True)
class Scenario:
    """A suite to run; the bare loop makes `calls` calls for each of its cases."""

    name: str
    cases: int
    calls: int
    files: Callable[[int, int], dict[str, str]]


def single(cases: int, concurrency: int) -> dict[str, str]:
    """Write cases of one turn with one check."""
    lines = [f"- {{name: c{n:06}, turns: [{{user: '{question(n)}'}}]}}" for n in _upto(cases)]
    checks = "assertions: [{type: contains, value: parcel}]"
    return _files(["model: anthropic/benchmark"], [checks], lines, concurrency)


def tools(cases: int, concurrency: int) -> dict[str, str]:
    """Write cases of three turns; in each of them the model calls a tool and then answers."""
    turns = ", ".join(f"{{user: 'Turn {turn}: where is my parcel?'}}" for turn in _upto(3))
    lines = [f"- {{name: c{n:06}, turns: [{turns}]}}" for n in _upto(cases)]
    agent = ["model: anthropic/benchmark", "tools: [knowledge.search]"]
    checks = ["assertions:", "- {type: contains, value: parcel}"]
    checks += ["- {type: tool_calls, tools: [knowledge.search]}", "fixtures: [shelf]"]
    chunk = "{id: c1, text: A sample of what is known about parcels.}"
    shelf = f"name: Shelf\nslug: shelf\nentities: []\nchunks: [{chunk}]\n"
    return _files(agent, checks, lines, concurrency) | {"shelf.fixture.yaml": shelf}


def judged(cases: int, concurrency: int) -> dict[str, str]:
    """Write cases of one turn with one judged check."""
    lines = [f"- {{name: c{n:06}, turns: [{{user: '{question(n)}'}}]}}" for n in _upto(cases)]
    checks = ["judge_model: anthropic/benchmark-judge", "assertions:"]
    checks += ["- {type: llm_judge, criteria: Names the parcel., scale: pass_fail}"]
    return _files(["model: anthropic/benchmark"], checks, lines, concurrency)


# A file holds at most half a million values. What goes beyond it is written as rows.
MAX_IN_A_FILE = 50_000
MORE_CASES = """
from evals_app.models import Case, Suite, Turn

suite = Suite.objects.get()
last = suite.cases.count()
for start in range(last, last + {0}, 2000):
    numbers = range(start, min(start + 2000, last + {0}))
    cases = [Case(suite=suite, name=f"c{{n + 1:06}}", position=n) for n in numbers]
    Case.objects.bulk_create(cases)
    Turn.objects.bulk_create(
        Turn(case=case, user=f"Where is parcel {{case.position}}?", checks="suite")
        for case in cases
    )
"""


def scripted(cases: int, concurrency: int) -> dict[str, str]:
    """Write cases like those of `single`, answered by a script: no model server is needed."""
    agent = ["driver: scripted", "rules: [{reply: 'You said: {{input}}'}]"]
    files = single(cases, concurrency)
    return files | {"benchmark.agent.yaml": _agent(agent)}


def _upto(count: int) -> range:
    return range(1, count + 1)


def _agent(settings: Sequence[str]) -> str:
    prompt = f"system_prompt: {SYSTEM}"
    return "\n".join(["agent: Benchmark", "slug: benchmark", prompt, *settings, ""])


def _files(
    agent: Sequence[str], settings: Sequence[str], cases: Sequence[str], concurrency: int
) -> dict[str, str]:
    head = ["suite: Benchmark", f"slug: {SUITE}", "agent: benchmark", f"concurrency: {concurrency}"]
    suite = "\n".join([*head, *settings, "cases:", *cases, ""])
    return {"benchmark.agent.yaml": _agent(agent), "benchmark.suite.yaml": suite}


# How it is run.


@dataclass(frozen=True)
class Measured:
    """What one way of running cost; see README.md for what each figure spans."""

    run_s: float
    whole_s: float
    cpu_s: float
    peak_mb: float


@contextmanager
def model_server(latency_ms: float, *more: str) -> Iterator[str]:
    """Serve model calls from a process of its own, with `more` options; gives its address."""
    options = ["-m", "benchmarks.model_server", "--latency-ms", str(latency_ms), *more]
    with subprocess.Popen(  # noqa: S603 - a script of ours
        [sys.executable, *options], cwd=ROOT, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate()


@contextmanager
def standing_worker(site: Site) -> Iterator[int]:
    """Keep a worker command going; gives its process id once it is ready."""
    with subprocess.Popen(  # noqa: S603 - a command of ours
        command("worker"), cwd=ROOT, env=site.environment, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            if "ready" not in process.stdout.readline():
                raise RuntimeError("The worker did not start.")
            yield process.pid
        finally:
            process.terminate()
            process.communicate()


def bare_loop(url: str, *, calls: int, concurrency: int, samples_memory: bool) -> Measured:
    """Make the calls and nothing else."""
    options = ["--url", url, "--calls", str(calls), "--concurrency", str(concurrency)]
    script = [sys.executable, "benchmarks/bare_loop.py", *options]
    cost = measured(script, clean_environment(), samples_memory=samples_memory)
    figures = json.loads(cost.output)
    if figures["passed"] != calls:
        raise RuntimeError(f"{calls - figures['passed']} calls of the bare loop did not pass.")
    return Measured(figures["loop_s"], cost.wall_s, cost.cpu_s, cost.peak_mb)


def run_evals(site: Site, *, stands: bool, samples_memory: bool) -> Measured:
    """Run the suite; `stands`: a worker command is already there, and its CPU counts, too."""
    arguments = command("run_evals", SUITE, "--no-progress")
    if not stands:
        cost = measured(arguments, site.environment, samples_memory=samples_memory)
        return _measured(site, cost, workers_s=0.0)
    with standing_worker(site) as pid:
        before = cpu_s(pid)
        cost = measured(arguments, site.environment, samples_memory=samples_memory, beside=[pid])
        return _measured(site, cost, workers_s=cpu_s(pid) - before)


def _measured(site: Site, cost: Cost, *, workers_s: float) -> Measured:
    statement = "SELECT started_at, finished_at, total, passed FROM evals_app_run"
    ((started_at, finished_at, total, passed),) = site.query(statement)
    if passed != total:
        raise RuntimeError(f"{total - passed} of {total} executions did not pass.\n{cost.output}")
    run_s = (_moment(finished_at) - _moment(started_at)).total_seconds()
    return Measured(run_s, cost.wall_s, cost.cpu_s + workers_s, cost.peak_mb)


def _moment(value: str | datetime) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


# What is shown.


@dataclass
class Result:
    """All measurements of one scenario under one latency on one database."""

    scenario: str
    database: str
    latency_ms: float | None
    cases: int
    peaks: dict[str, float]  # MB, by way
    rounds: list[dict[str, Measured]]

    def of(self, way: str, figure: str) -> float:
        """Return the median of a figure."""
        return float(median(getattr(costs[way], figure) for costs in self.rounds))

    def ratio(self, way: str, figure: str) -> float:
        """Return the median of what a figure is to the bare loop's of the same round."""
        read = attrgetter(figure)
        return float(median(read(costs[way]) / read(costs[BARE]) for costs in self.rounds))


def table_of(result: Result) -> Table:
    """Lay out a result, a row for each way of running."""
    latency = "" if result.latency_ms is None else f", {result.latency_ms:g} ms"
    rounds = f"median of {len(result.rounds)}"
    title = f"{result.scenario}: {result.cases} cases on {result.database}{latency} ({rounds})"
    table = Table(title=title, title_justify="left")
    figures = ("run s", "x bare", "whole s", "x bare", "CPU ms/case", "above bare", "peak MB")
    for name in ("", *figures):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    has_bare = BARE in result.peaks
    for way, peak_mb in result.peaks.items():
        per_case = 1000 / result.cases
        cpu_ms = result.of(way, "cpu_s") * per_case
        above = cpu_ms - result.of(BARE, "cpu_s") * per_case if has_bare else 0.0
        is_compared = has_bare and way != BARE
        table.add_row(
            way,
            f"{result.of(way, 'run_s'):.2f}",
            f"{result.ratio(way, 'run_s'):.2f}" if is_compared else "",
            f"{result.of(way, 'whole_s'):.2f}",
            f"{result.ratio(way, 'whole_s'):.2f}" if is_compared else "",
            f"{cpu_ms:.2f}",
            f"{above:+.2f}" if is_compared else "",
            f"{peak_mb:.0f}",
        )
    return table


def memory_table(results: Sequence[Result]) -> Table:
    """Lay out how memory and time grow with the number of cases."""
    table = Table(title=f"memory on {results[0].database}", title_justify="left")
    for name in ("cases", "peak MB", "x smallest", "run ms/case", "whole ms/case", "CPU ms/case"):
        table.add_column(name, justify="right")
    for result in results:
        per_case = 1000 / result.cases
        table.add_row(
            f"{result.cases:,}",
            f"{result.peaks[EMBEDDED]:.0f}",
            f"{result.peaks[EMBEDDED] / results[0].peaks[EMBEDDED]:.2f}",
            f"{result.of(EMBEDDED, 'run_s') * per_case:.2f}",
            f"{result.of(EMBEDDED, 'whole_s') * per_case:.2f}",
            f"{result.of(EMBEDDED, 'cpu_s') * per_case:.2f}",
        )
    return table


class Bench:
    """Measures scenarios as the command line says."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._concurrency: int = given.concurrency
        self._rounds: int = given.rounds
        self._server: str = given.postgresql

    def compare(self, scenario: Scenario, kind: Kind, latency_ms: float) -> Result:
        """Measure all ways of running a scenario in turn, round after round."""
        ways = (BARE, EMBEDDED, STANDING)
        with model_server(latency_ms) as url, self._site(scenario, kind, url) as site:

            def measure(way: str, *, samples_memory: bool = False) -> Measured:
                if way == BARE:
                    calls = scenario.cases * scenario.calls
                    return bare_loop(
                        url,
                        calls=calls,
                        concurrency=self._concurrency,
                        samples_memory=samples_memory,
                    )
                return self._run(site, stands=way == STANDING, samples_memory=samples_memory)

            peaks = {way: measure(way, samples_memory=True).peak_mb for way in ways}
            rounds = [{way: measure(way) for way in ways} for _ in range(self._rounds)]
        return Result(scenario.name, kind, latency_ms, scenario.cases, peaks, rounds)

    def grow(self, cases: int, kind: Kind) -> Result:
        """Measure memory and time of a scripted run once."""
        scenario = Scenario("memory", min(cases, MAX_IN_A_FILE), 0, scripted)
        with self._site(scenario, kind, url="") as site:
            if more := cases - scenario.cases:
                site.manage("shell", "--verbosity", "0", "--command", MORE_CASES.format(more))
            measured = self._run(site, stands=False, samples_memory=True)
        peaks = {EMBEDDED: measured.peak_mb}
        return Result(scenario.name, kind, None, cases, peaks, [{EMBEDDED: measured}])

    def _site(self, scenario: Scenario, kind: Kind, url: str) -> AbstractContextManager[Site]:
        return filled_site(
            kind,
            files=scenario.files(scenario.cases, self._concurrency),
            variables={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "benchmark"},
            server=self._server,
        )

    def _run(self, site: Site, *, stands: bool, samples_memory: bool) -> Measured:
        with copy_of(site, server=self._server) as fresh:
            return run_evals(fresh, stands=stands, samples_memory=samples_memory)


def main() -> None:
    """Read the command line, measure, and print tables."""
    parser = argparse.ArgumentParser(description="Measure how long runs take and what they cost.")
    add = parser.add_argument
    names = ("single", "tools", "judge", "memory")
    add("scenarios", nargs="*", metavar="SCENARIO", help=f"{', '.join(names)}; none: all.")
    add("--database", nargs="+", choices=KINDS, default=KINDS)
    add("--latency-ms", nargs="+", type=float, default=[0.0, 200.0], help="Of the model server.")
    add("--rounds", type=int, default=5)
    add("--concurrency", type=int, default=64, help="Conversations at once.")
    add("--cases", type=int, default=1000, help="Of single.")
    add("--tools-cases", type=int, default=200)
    add("--judge-cases", type=int, default=300)
    add("--memory-cases", nargs="+", type=int, default=[1_000, 10_000, 100_000])
    add("--postgresql", default=SERVER, help="Address of a server where databases may be made.")
    add("--json", type=Path, metavar="FILE", help="Write all measurements to a file.")
    given = parser.parse_args()
    if unknown := set(given.scenarios) - set(names):
        parser.error(f"There is no scenario {min(unknown)!r}. Known: {', '.join(names)}.")
    scenarios = [
        Scenario("single", given.cases, 1, single),
        Scenario("tools", given.tools_cases, 6, tools),
        Scenario("judge", given.judge_cases, 2, judged),
    ]
    # As on Ctrl-C: what was made for the measurement goes away with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped."))
    wanted = given.scenarios or names
    bench, console = Bench(given), Console(width=110)
    results: list[Result] = []
    for kind in given.database:
        for scenario in scenarios:
            for latency_ms in given.latency_ms if scenario.name in wanted else ():
                results.append(bench.compare(scenario, kind, latency_ms))
                console.print(table_of(results[-1]))
        if "memory" in wanted:
            grown = [bench.grow(cases, kind) for cases in given.memory_cases]
            console.print(memory_table(grown))
            results += grown
    if given.json:
        given.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
