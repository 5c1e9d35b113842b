"""How many trials a run saves that skips those which cannot change the verdict of their case.

    python -m benchmarks.skipping

Simulates suites of 200 cases: 60 % pass in 95 to 100 % of their trials, 25 % in 80 to 95 %, and 15 %
in 0 to 80 %. Trials end in the order in which they began, the first trials of all cases first.
Prints the share of trials that did not run, for 1, 10 and 100 parallel conversations.
"""

from collections import deque
from random import Random
from statistics import fmean

from evals_app.engine.statistics.deciding import is_certain

CASES = 200
SEEDS = 10
SUITES = ((3, 1.0), (3, 0.6), (5, 0.8), (10, 1.0), (10, 0.9), (10, 0.7), (10, 0.5))


def saved(trials: int, min_pass_rate: float, *, concurrency: int, seed: int) -> float:
    """Return the share of the trials of one simulated run that were skipped."""
    draw = Random(seed)
    rates = [_pass_rate(draw) for _ in range(CASES)]
    counts = [[0, 0] for _ in range(CASES)]  # passed, failed
    queue = deque(case for _ in range(trials) for case in range(CASES))
    running: deque[int] = deque()
    ran = 0
    while queue or running:
        while queue and len(running) < concurrency:
            case = queue.popleft()
            passed, failed = counts[case]
            left = trials - passed - failed
            if not is_certain(passed, failed, left=left, min_pass_rate=min_pass_rate):
                running.append(case)
                ran += 1
        if running:
            case = running.popleft()
            counts[case][draw.random() >= rates[case]] += 1
    return 1 - ran / (CASES * trials)


def _pass_rate(draw: Random) -> float:
    kinds = [(0.95, 1.0), (0.8, 0.95), (0.0, 0.8)]
    ((low, high),) = draw.choices(kinds, weights=[60, 25, 15])
    return draw.uniform(low, high)


def main() -> None:
    """Print the share of each kind of suite."""
    for trials, rate in SUITES:
        shares = [
            fmean(saved(trials, rate, concurrency=n, seed=seed) for seed in range(SEEDS))
            for n in (1, 10, 100)
        ]
        shown = ", ".join(f"{share:.0%}" for share in shares)
        print(f"{trials} trials, {rate:.0%} must pass: {shown}")


if __name__ == "__main__":
    main()
