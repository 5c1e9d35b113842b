"""Measure pages of the admin and of REST on a filled database: time and number of queries.

    DATABASE_URL=postgresql://... python -m benchmarks.pages --requests 40 [--only executions]

Each line is one kind of page, asked for in many variants: other rows, other filters, other pages
of the list. Requests are made in this process, without a network; the first one of a kind is not
counted. Exits with 1 if a kind of page takes longer, or more queries, than is allowed.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations, cycle, islice
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
os.environ.setdefault("EVALWELL_REST_PER_MINUTE", "0")  # one token asks for everything
django.setup()

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection, models
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils.http import urlencode

from evals_app.engine.statistics.rates import percentile
from evals_app.models import Agent, ApiToken, Case, Execution, Run, Suite, Yardstick
from evals_app.runs.judges.calibration import most_compared

MAX_MS = 300.0
MAX_QUERIES = 12
# Of pages that are opened for the first time: what a process remembers of a run is read.
MAX_QUERIES_OF_FIRST = 15
# Of the settings of a suite: a form with choices of agents, fixtures and models below an answer.
MAX_QUERIES_OF_SETTINGS = 14
LIST_PAGE = 50
SEARCHED = ("refund", "LATE PARCEL", "angry", "5-0004", "0-00123", "nothing is called so")


@dataclass(frozen=True, slots=True)
class Page:
    """A kind of page, and the addresses by which it is asked for."""

    title: str
    addresses: Sequence[str]
    max_queries: int = MAX_QUERIES


@dataclass(slots=True)
class Queries:
    """Counts the queries of a request and remembers the slowest."""

    count: int = 0
    slowest_ms: float = 0.0
    slowest: str = ""

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, *rest)
        finally:
            took_ms = 1000 * (time.perf_counter() - began)
            self.count += 1
            if took_ms > self.slowest_ms:
                params = rest[0] or ()
                self.slowest_ms, self.slowest = took_ms, f"{sql}\n  {params!r:.300}"


@dataclass(slots=True)
class Measured:
    """What the requests of one page took."""

    page: Page
    took_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    most_queries: int = 0
    slowest_ms: float = 0.0
    slowest: str = ""
    slowest_address: str = ""

    @property
    def p95_ms(self) -> float:
        return percentile(self.took_ms, 0.95) or 0.0

    @property
    def is_allowed(self) -> bool:
        return self.p95_ms <= MAX_MS and self.most_queries <= self.page.max_queries

    def __str__(self) -> str:
        middle = map(statistics.median, (self.took_ms, self.cpu_ms))
        numbers = (*middle, self.p95_ms, max(self.took_ms))
        times = " ".join(f"{number:8.0f}" for number in numbers)
        mark = "" if self.is_allowed else "  <--"
        return f"{self.page.title:<44} {times} {self.most_queries:8} {self.slowest_ms:10.0f}{mark}"


HEAD = (
    f"{'page':<44} {'median':>8} {'cpu':>8} {'p95':>8} {'max':>8} {'queries':>8} {'slowest q.':>10}"
)


def measure(client: Client, page: Page, *, requests: int) -> Measured:
    """Ask for a page in its variants, one after the other."""
    measured = Measured(page)
    _ask(client, page.addresses[0])  # what a process does only once is not counted
    for address in islice(cycle(page.addresses), requests):
        queries = Queries()
        began, worked = time.perf_counter(), time.process_time()
        with connection.execute_wrapper(queries):
            _ask(client, address)
        measured.took_ms.append(1000 * (time.perf_counter() - began))
        measured.cpu_ms.append(1000 * (time.process_time() - worked))
        measured.most_queries = max(measured.most_queries, queries.count)
        if queries.slowest_ms > measured.slowest_ms:
            measured.slowest_ms, measured.slowest = queries.slowest_ms, queries.slowest
            measured.slowest_address = address
    return measured


def _ask(client: Client, address: str) -> None:
    response = client.get(address)
    if response.status_code != 200:  # noqa: PLR2004 - a page
        raise SystemExit(f"{address} answered {response.status_code}.")
    response.getvalue()  # also of a page that is streamed


# The admin


def admin_pages(user: User, rng: random.Random) -> Iterator[Page]:
    """Return the pages that people open."""
    # One more while runs are in progress: how far their cases are.
    yield Page("dashboard", [reverse("admin:index")], MAX_QUERIES + 1)
    runs = reverse("admin:evals_app_run_changelist")
    yield Page("runs", [runs])
    yield Page("runs, last pages", [f"{runs}?p={number}" for number in _deep(Run)])
    yield from _filtered("runs", Run, user, rng)
    ended = _pages_of(Run, _sample(_ended(), rng))
    yield Page("run that has ended", ended, MAX_QUERIES_OF_FIRST)
    largest = _ended().order_by("-total", "-pk")
    largest_pages = _pages_of(Run, largest[:8])
    yield Page("run that has ended, the largest", largest_pages, MAX_QUERIES_OF_FIRST)
    yield Page("run that is open", _pages_of(Run, Run.objects.filter(status__in=Run.OPEN)[:8]))
    yield from _models()
    yield from _execution_lists(user, rng)
    yield from _reviews(rng)
    yield from _judges()
    yield from _site(rng)
    suites = reverse("admin:evals_app_suite_changelist")
    yield Page("suites", [suites, f"{suites}?q=refund", f"{suites}?p=2"])
    yield Page(
        "suite", _pages_of(Suite, _sample(Suite.objects.all(), rng)), MAX_QUERIES_OF_SETTINGS
    )
    many = Suite.objects.annotate(many=models.Count("cases")).order_by("-many")
    yield Page("suite, the largest", _pages_of(Suite, many[:1]), MAX_QUERIES_OF_SETTINGS)
    some = _sample(Suite.objects.all(), rng)
    yield Page("suite, worth a look", [_notable(suite) for suite in some])
    yield Page("suite, worth a look, the largest", [_notable(suite) for suite in many[:3]])
    yield from _case_lists(many[0])
    agents = Agent.objects.annotate(many=models.Count("suites__cases")).order_by("-many")[:3]
    topics = [reverse("admin:evals_app_agent_topics", args=[agent.pk]) for agent in agents]
    yield Page("topics of an agent, the largest", topics, MAX_QUERIES_OF_FIRST)
    cases = reverse("admin:evals_app_case_changelist")
    yield Page("cases", [cases, *(f"{cases}?{urlencode({'q': text})}" for text in SEARCHED)])
    some = _sample(Case.objects.all(), rng)
    yield Page("case", _pages_of(Case, some))
    page = reverse("admin:evals_app_run_case_history")
    yield Page(
        "history of a case",
        [
            f"{page}?{urlencode({'suite': case.suite.slug, 'case': case.name} | more)}"
            for case in _with_suite(some)
            for more in ({}, {"all": "true"})
        ],
    )


def _models() -> Iterator[Page]:
    """Return the table of runs that were started together, and the cases that it unfolds."""
    groups = Run.objects.exclude(group=None).order_by().values_list("group", flat=True).distinct()
    queries = [urlencode([("group", str(group))]) for group in groups]
    url = reverse("admin:evals_app_run_models")
    yield Page("agents and models", [f"{url}?{query}" for query in queries])
    url = reverse("admin:evals_app_run_models_cases")
    slugs = Run.objects.exclude(group=None).values_list("group", "suite_slug").distinct()
    cases = [
        urlencode([("group", str(group)), ("suite", slug)]) for group, slug in slugs.order_by()
    ]
    yield Page("agents and models, cases of a suite", [f"{url}?{query}" for query in cases])


def _with_suite(cases: Iterable[Case]) -> Iterable[Case]:
    return Case.objects.select_related("suite").filter(pk__in=[case.pk for case in cases])


def _notable(suite: Suite) -> str:
    return reverse("admin:evals_app_suite_notable", args=[suite.pk])


def _case_lists(suite: Suite) -> Iterator[Page]:
    """Return the cases of the largest suite, page by page and filtered."""
    url = reverse("admin:evals_app_suite_cases", args=[suite.pk])
    last = suite.cases.count() // LIST_PAGE
    yield Page(
        "cases of a suite",
        [url, *(f"{url}?p={page}" for page in (2, last // 2, last))],
    )
    searched = [f"{url}?{urlencode({'q': text})}" for text in SEARCHED]
    # One more than the list: how many cases match.
    yield Page("cases of a suite, searched", searched, MAX_QUERIES + 1)
    filters = ("verdict=failed", "verdict=none", "tag=smoke", "state=enabled&verdict=passed")
    yield Page(
        "cases of a suite, filtered",
        [f"{url}?{query}" for query in filters],
        MAX_QUERIES + 1,
    )


def _execution_lists(user: User, rng: random.Random) -> Iterator[Page]:
    url = reverse("admin:evals_app_execution_changelist")
    yield Page("executions", [url])
    yield Page("executions, deep pages", [f"{url}?p={number}" for number in _deep(Execution)])
    yield from _filtered("executions", Execution, user, rng)
    verdicts = [f"{url}?verdict__exact=failed&p={page}" for page in (2, 20, 200, 1000)]
    yield Page("executions, failed, deep pages", verdicts)
    searched = [f"{url}?{urlencode({'q': text})}" for text in SEARCHED]
    yield Page("executions, searched", searched)
    chosen = [_pairs(query) for query in _choices(Execution, user).get("suite", [])]
    both = [f"{address}&{rng.choice(chosen)}" for address in searched for _ in range(3) if chosen]
    yield Page("executions, searched and suite", both or searched)
    yield Page(
        "executions, searched and failed",
        [f"{address}&verdict__exact=failed" for address in searched],
    )
    largest = _ended().order_by("-total", "-pk").values_list("pk", flat=True)[:8]
    of_runs = [f"{url}?run={pk}" for pk in largest]
    narrowed = ["", "&verdict__exact=errored", "&q=angry", "&cause__exact=tool", "&p=100"]
    yield Page(
        "executions of a large run", [address + more for address in of_runs for more in narrowed]
    )


def _filtered(
    title: str, model: type[models.Model], user: User, rng: random.Random
) -> Iterator[Page]:
    """Return the list under each choice of each filter that it offers, and under two at once."""
    url = reverse(f"admin:evals_app_{model._meta.model_name}_changelist")  # noqa: SLF001
    choices = _choices(model, user)
    for name, queries in choices.items():
        yield Page(f"{title} by {name}", _shuffled([url + query for query in queries], rng))
    for one, other in combinations(choices, 2):
        pairs = [
            f"{url}{rng.choice(choices[one])}&{_pairs(rng.choice(choices[other]))}"
            for _ in range(40)
        ]
        yield Page(f"{title} by {one} and {other}", pairs)


def _choices(model: type[models.Model], user: User) -> dict[str, list[str]]:
    """Return the filters that a list offers, with what each adds to the address."""
    request = RequestFactory().get("/")
    request.user = user
    changelist = admin.site.get_model_admin(model).get_changelist_instance(request)
    choices = {
        str(spec.title): [
            str(choice["query_string"])
            for choice in spec.choices(changelist)
            if not choice["selected"] and choice["query_string"] not in {"", "?"}
        ]
        for spec in changelist.filter_specs
    }
    return {title: queries for title, queries in choices.items() if queries}


def _pairs(query: str) -> str:
    return query.removeprefix("?")


def _reviews(rng: random.Random) -> Iterator[Page]:
    whole = Execution.objects.filter(transcript__isnull=False)
    yield Page("review", _pages_of(Execution, _sample(whole, rng)), MAX_QUERIES_OF_FIRST)
    ended = Execution.objects.filter(status="finished")
    year = list(_sample(ended, rng))
    yield Page("review of a year", _pages_of(Execution, year), MAX_QUERIES_OF_FIRST)
    strip = [reverse("admin:evals_app_execution_strip", args=[execution.pk]) for execution in year]
    yield Page("review, the last results of its case", strip)
    waiting = Execution.objects.filter(status__in=["queued", "running"], run__status__in=Run.OPEN)
    yield Page("review, not yet run", _pages_of(Execution, waiting.order_by("pk")[:20]))


def _judges() -> Iterator[Page]:
    """Return the pages of judges, and of the criteria by which they grade."""
    yield Page("judges", [reverse("admin:evals_app_judgetally_changelist")])
    url = reverse("admin:evals_app_yardsticks")
    judges = Yardstick.objects.values_list("judge", flat=True).distinct().order_by("judge")
    yield Page("criteria", [url, *(f"{url}?p={number}" for number in (2, 5, 20))])
    yield Page("criteria of a judge", [f"{url}?{urlencode({'judge': name})}" for name in judges])
    compared = most_compared()[:40]
    pages = [reverse("admin:evals_app_yardstick", args=[row.digest]) for row in compared]
    yield Page("criterion", pages)
    yield Page("criterion, the most compared", pages[:3])


def _site(rng: random.Random) -> Iterator[Page]:
    """Return the pages about the site as a whole."""
    url = reverse("admin:evals_app_activity_changelist")
    yield Page("activity", [url, f"{url}?p=2", f"{url}?q=refund"])
    yield Page("spending", [reverse("admin:evals_app_spending_changelist")])
    numbers = [f"run {run.pk}" for run in _sample(_ended(), rng, 6)]
    url = reverse("admin:search")
    yield Page("search", [f"{url}?{urlencode({'q': text})}" for text in (*SEARCHED, *numbers)])
    results = [
        reverse("admin:evals_app_suite_results", args=[suite.pk])
        for suite in _sample(Suite.objects.all(), rng)
    ]
    yield Page("results of a suite", results, MAX_QUERIES_OF_FIRST)


# REST


def rest_pages(rng: random.Random) -> Iterator[Page]:
    """Return what programs read; cursors are followed from answer to answer."""
    runs = reverse("api:runs")
    yield Page("REST runs", [runs, f"{runs}?page_size=200"])
    yield Page("REST runs, filtered", [f"{runs}?{query}" for query in _run_filters(rng)])
    url, groups = reverse("api:runs-comparison"), Run.objects.exclude(group=None).order_by()
    keys = groups.values_list("group", flat=True).distinct()
    yield Page(
        "REST agents and models", [f"{url}?{urlencode([('group', str(key))])}" for key in keys]
    )
    some = _sample(_ended(), rng)
    yield Page("REST run", _addresses("run", some))
    large = _ended().order_by("-total", "-pk")[:8]
    yield Page("REST run, the largest", _addresses("run", large))
    lists = _addresses("run-executions", large)
    yield Page(
        "REST executions of a run", [*lists, *(f"{address}?page_size=200" for address in lists)]
    )
    filters = ["verdict=failed", "status=finished", "cause=tool", "verdict=errored&cause=judge"]
    filters.append(urlencode({"case": rng.choice(Case.objects.values_list("name", flat=True))}))
    yield Page(
        "REST executions of a run, filtered",
        [f"{address}?{one}" for address in lists for one in filters],
    )
    whole = _sample(Execution.objects.filter(transcript__isnull=False), rng)
    yield Page("REST execution", _addresses("execution", whole))
    yield from _all_executions(rng)
    for name in ("suites", "agents", "fixtures", "providers", "activity", "spending"):
        yield Page(f"REST {name}", [reverse(f"api:{name}")])
    agents = Agent.objects.values_list("slug", flat=True)
    yield Page("REST topics of an agent", [reverse("api:agent-topics", args=[a]) for a in agents])
    yield Page(
        "REST decision about a suite",
        [reverse("api:suite-decision", args=[suite.slug]) for suite in Suite.objects.only("slug")],
        MAX_QUERIES_OF_FIRST,
    )
    small = Suite.objects.annotate(many=models.Count("cases")).filter(many__lte=500)
    slugs = list(small.order_by("-many").values_list("slug", flat=True)[:8])
    yield Page("REST suite of up to 500 cases", [reverse("api:suite", args=[s]) for s in slugs])
    cases = _with_suite(_sample(Case.objects.all(), rng))
    yield Page(
        "REST history of a case",
        [
            f"{reverse('api:case-history', args=[case.suite.slug])}?{urlencode({'case': case.name})}"
            for case in cases
        ],
    )


def _all_executions(rng: random.Random) -> Iterator[Page]:
    """Return the conversations of all runs: as they are, by each filter, and by two of them."""
    url = reverse("api:executions")
    yield Page("REST executions", [url, f"{url}?page_size=200"])
    filters = _execution_filters()
    for name, values in filters.items():
        queries = [urlencode({name: value}) for value in values]
        yield Page(f"REST executions by {name}", [f"{url}?{query}" for query in queries])
    pairs = [
        urlencode({one: rng.choice(filters[one]), other: rng.choice(filters[other])})
        for one, other in combinations(filters, 2)
    ]
    yield Page("REST executions by two", [f"{url}?{query}" for query in pairs])


def _execution_filters() -> dict[str, list[str]]:
    """Return values of each filter: common ones, rare ones, and some that match nothing."""
    suites = Suite.objects.annotate(many=models.Count("cases")).order_by("many")
    slugs = list(suites.values_list("slug", flat=True))
    moments = list(Run.objects.order_by("pk").values_list("created_at", flat=True))
    times = [moments[round((len(moments) - 1) * share)].isoformat() for share in (0, 0.5, 1)]
    cases = list(Case.objects.order_by("name").values_list("name", flat=True)[:8])
    return {
        "verdict": ["passed", "failed", "errored", "measured"],
        "status": ["finished", "queued", "running", "cancelled", "skipped"],
        "cause": ["assertion", "tool", "harness"],
        "case": [*cases, "nothing is called so"],
        "suite": [slugs[0], slugs[len(slugs) // 2], slugs[-1], "nothing-is-called-so"],
        "agent": [*Agent.objects.values_list("slug", flat=True), "nothing-is-called-so"],
        "since": times,
        "until": times,
        "tag": ["refund", "late parcel", "nothing-is-called-so"],
        "reviewed": ["true", "false"],
    }


def _run_filters(rng: random.Random) -> list[str]:
    suites = list(Suite.objects.values_list("slug", flat=True))
    suite, agent = rng.choice(suites), Suite.objects.values_list("agent__slug", flat=True)[0]
    moments = list(Run.objects.order_by("pk").values_list("created_at", flat=True))
    times = [urlencode({"created_after": moments[len(moments) // 2].isoformat()})]
    times.append(urlencode({"created_before": moments[len(moments) // 20].isoformat()}))
    single = [f"suite={suite}", f"agent={agent}", "status=cancelled", "verdict=inconclusive"]
    return [*single, *times, *(f"{a}&{b}" for a, b in combinations([*single, *times], 2))]


def cursor_page(client: Client, *, follow: int = 40) -> Page:
    """Walk a long list by its cursors, and give the addresses that were met."""
    largest = _ended().order_by("-total", "-pk")[:1]
    addresses = _addresses("run-executions", largest)
    while len(addresses) < follow and (following := client.get(addresses[-1]).json()["next"]):
        addresses.append(following)
    return Page("REST executions of a run, by cursor", addresses)


# Rows to ask for


def _ended() -> models.QuerySet[Run]:
    return Run.objects.exclude(status__in=Run.OPEN).defer("summary")


def _sample(rows: models.QuerySet[Any], rng: random.Random, size: int = 40) -> Iterable[Any]:
    keys = list(rows.order_by("-pk").values_list("pk", flat=True))
    return rows.filter(pk__in=rng.sample(keys, min(size, len(keys)))).only("pk")


def _pages_of(model: type[models.Model], rows: Iterable[Any]) -> list[str]:
    name = f"admin:evals_app_{model._meta.model_name}_change"  # noqa: SLF001
    return [reverse(name, args=[row.pk]) for row in rows]


def _addresses(name: str, rows: Iterable[Any]) -> list[str]:
    return [reverse(f"api:{name}", args=[row.pk]) for row in rows]


def _deep(model: type[models.Model]) -> list[int]:
    last = max(1, model._default_manager.count() // LIST_PAGE)  # noqa: SLF001
    return sorted({max(1, round(last * share)) for share in (0.001, 0.01, 0.1, 0.5, 0.9, 1.0)})


def _shuffled(items: list[str], rng: random.Random) -> list[str]:
    return rng.sample(items, len(items))


# The whole


@contextmanager
def signed_in() -> Iterator[tuple[User, Client, Client]]:
    """Give an administrator, their browser, and a program with a token for as long as the block lasts."""
    user, _ = User.objects.get_or_create(
        username="benchmark", defaults={"is_superuser": True, "is_staff": True}
    )
    person = Client(SERVER_NAME="localhost")
    person.force_login(user)
    token, text = ApiToken.issue(name="benchmark", user=user, scope="read")
    try:
        yield (
            user,
            person,
            Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {text}"}),
        )
    finally:
        token.delete()


def run(*, requests: int, only: str = "") -> list[Measured]:
    """Measure every page, or those whose title holds `only`, and print a line for each."""
    rng = random.Random(1)
    print(HEAD)
    measurements = []
    with signed_in() as (user, person, program):
        todo = [(person, page) for page in admin_pages(user, rng)]
        todo += [(program, page) for page in [*rest_pages(rng), cursor_page(program)]]
        for client, page in todo:
            if only in page.title and page.addresses:
                measurements.append(measure(client, page, requests=requests))
                print(measurements[-1], flush=True)
    for measured in measurements:
        if not measured.is_allowed:
            print(f"\n{measured.page.title}: {measured.slowest_address}\n  {measured.slowest}")
    return measurements


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=40, help="Of each kind of page.")
    parser.add_argument("--only", default="", help="Part of the titles to measure.")
    import evalsite.wsgi  # noqa: F401, PLC0415 - from here on the process is like a web server's

    measurements = run(**vars(parser.parse_args()))
    sys.exit(0 if all(measured.is_allowed for measured in measurements) else 1)


if __name__ == "__main__":
    main()
