"""What all processes share of the providers."""

import pytest

from evals_app.engine.llm.models import Block, ProviderLoad
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.models import Lease, ProviderState, Run
from evals_app.runs.providers.shared_limits import (
    block_providers,
    blocks,
    book_calls,
    fair_places,
    kinds_in_use,
    kinds_of,
    provider_states,
    share_places,
)
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import lease_of, make_agent, make_suite

SLUG = "anthropic"


@pytest.mark.parametrize(
    ("limit", "wanted", "others", "places"),
    [
        pytest.param(10, 4, [], 10, id="all, where nobody else wants any"),
        pytest.param(10, 4, [(2, 8)], 4, id="what it wants"),
        pytest.param(10, 40, [], 10, id="all there are"),
        pytest.param(10, 40, [(4, 4)], 6, id="what others leave"),
        pytest.param(10, 40, [(10, 10)], 0, id="nothing is left"),
        pytest.param(10, 10, [(0, 10)], 5, id="half, where another has none"),
        pytest.param(10, 10, [(3, 10)], 5, id="half, where another has less than its share"),
        pytest.param(10, 10, [(5, 10)], 5, id="the other has its share"),
        pytest.param(10, 10, [(0, 2)], 5, id="a share is not more than half"),
        pytest.param(10, 10, [(2, 2)], 8, id="the other wants no more"),
        pytest.param(10, 10, [(0, 0)], 10, id="the other wants nothing"),
        pytest.param(9, 9, [(3, 9), (0, 9)], 3, id="a third"),
        pytest.param(1, 5, [(0, 5)], 0, id="one place for two: it is given up"),
        pytest.param(1, 5, [(1, 5)], 0, id="one place for two: it is the other's turn"),
        pytest.param(2, 5, [(0, 5), (1, 5)], 0, id="two places for three: it is given up"),
        pytest.param(2, 5, [(1, 5), (1, 0)], 0, id="a place that is not yet given back"),
        pytest.param(3, 5, [(5, 5)], 0, id="a limit that was lowered meanwhile"),
    ],
)
def test_places_are_shared_fairly(
    limit: int, wanted: int, others: list[tuple[int, int]], places: int
) -> None:
    taken = [{"granted": granted, "wanted": wants, "waited": 0} for granted, wants in others]

    assert fair_places(limit, wanted=wanted, had=1, waited=0, others=taken) == places


@pytest.mark.parametrize(
    ("waited", "places"),
    [
        pytest.param(3, 1, id="longer than the other"),
        pytest.param(2, 1, id="as long"),
        pytest.param(1, 0, id="less long"),
    ],
)
def test_whoever_has_waited_longest_takes_a_place_that_is_free(waited: int, places: int) -> None:
    other = {"granted": 0, "wanted": 5, "waited": 2}

    assert fair_places(1, wanted=5, had=0, waited=waited, others=[other]) == places


@pytest.fixture
def run(db: None) -> Run:
    """A run of 30 conversations whose provider is known."""
    provider_states([SLUG])
    return start_run(make_suite(cases=30, concurrency=1000))


class Drainer:
    """A worker as the heart sees it: of the places that it has it uses all it wants."""

    def __init__(self, run: Run, *, wants: int) -> None:
        self.lease = lease_of(run)
        self.wants = wants
        self.places: dict[str, int] = {}
        self.under_way = 0

    def pulse(self, limit: int) -> None:
        standing = ProviderLoad(self.under_way, self.wants)
        places = share_places(self.lease.token, {SLUG: limit}, {SLUG: standing}, self.places)
        assert places is not None
        self.places = places

    def work(self, *, ends: bool = True) -> None:
        """End what is under way, and begin as much as is allowed."""
        left = 0 if ends else self.under_way
        self.under_way = max(left, min(self.wants, self.places[SLUG]))


def test_a_late_drainer_gets_its_share_and_the_limit_always_holds(run: Run) -> None:
    first, second = Drainer(run, wants=64), Drainer(run, wants=64)
    first.pulse(10)
    first.work()
    most = 0

    for number in range(12):
        for worker in (second, first):
            worker.pulse(10)
            worker.work(ends=number % 3 != 0)  # some calls take longer than a pulse
            most = max(most, first.under_way + second.under_way)

    assert most <= 10
    assert (first.under_way, second.under_way) == (5, 5)


def test_with_one_place_two_drainers_take_turns(run: Run) -> None:
    workers = [Drainer(run, wants=3), Drainer(run, wants=3)]
    turns = [0, 0]

    for _ in range(40):
        for number, worker in enumerate(workers):
            worker.pulse(1)
            worker.work()
            turns[number] += worker.under_way
        assert sum(worker.under_way for worker in workers) <= 1

    assert min(turns) > 5


def test_what_a_dead_drainer_had_is_free_again(run: Run) -> None:
    dead, alive = Drainer(run, wants=10), Drainer(run, wants=10)
    dead.pulse(10)
    Lease.objects.filter(pk=dead.lease.token).update(until="2020-01-01T00:00:00Z")

    alive.pulse(10)

    assert alive.places == {SLUG: 10}


def test_a_drainer_without_a_lease_has_no_places(run: Run) -> None:
    lease = lease_of(run)
    lease.release()

    assert share_places(lease.token, {SLUG: 10}, {SLUG: ProviderLoad(0, 5)}, {}) is None


@pytest.mark.django_db
def test_all_know_of_a_block_until_it_is_over_and_it_is_never_shortened() -> None:
    provider_states([SLUG, "other", "third"])

    block_providers({SLUG: Block(100, "answered 429"), "other": Block(-5, "answered 429")})
    block_providers({SLUG: Block(10, "answered 529 (overloaded)")})

    (block,) = blocks([SLUG, "other", "third"]).values()
    assert 90 < block.for_s <= 100
    assert block.reason == "answered 429"


@pytest.mark.django_db
def test_calls_are_booked_one_after_the_other() -> None:
    provider_states([SLUG])
    provider = ProviderSpec(
        provider="Anthropic", slug=SLUG, kind="anthropic", requests_per_minute=30
    )

    waits = [book_calls(provider, count) for count in (1, 3, 1)]

    assert waits == pytest.approx([0, 2, 8], abs=1)
    assert ProviderState.objects.get().next_request_at is not None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("variables", "agent", "judge", "kinds"),
    [
        pytest.param([], "", "", set(), id="none"),
        pytest.param(["GROQ_API_KEY"], "", "", {"groq"}, id="its key is set"),
        pytest.param([], "ollama/llama", "", {"ollama"}, id="an agent names it"),
        pytest.param([], "", "ollama/llama", {"ollama"}, id="a suite names it"),
        pytest.param([], "openai/gpt", "", set(), id="named, but without its key"),
        pytest.param([], "ollama-2/llama", "", set(), id="another one's name"),
    ],
)
def test_the_kinds_that_runs_may_call_are_known(
    monkeypatch: pytest.MonkeyPatch, variables: list[str], agent: str, judge: str, kinds: set[str]
) -> None:
    for variable in variables:
        monkeypatch.setenv(variable, "k")
    make_suite(agent=make_agent(model=agent), judge_model=judge)

    assert kinds_in_use() == kinds


@pytest.mark.django_db
def test_the_kinds_of_runs_are_those_of_the_providers_that_they_call() -> None:
    suite = make_suite()
    scripted, other = start_run(suite), start_run(suite)
    other.providers.set(provider_states(["anthropic", "gone"]))

    assert kinds_of([scripted]) == set()
    assert kinds_of([scripted, other]) == {"anthropic"}
