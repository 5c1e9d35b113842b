"""Measure how long `check_evals` takes to try 1,000 checks that ask no model.

    python -m benchmarks.can_fail
    python -m benchmarks.can_fail --checks 100000

The checks are of nine kinds, in cases of three, each with an expected answer of 30 words. Exits with 1 if
1,000 checks take more than 60 s.
"""

import argparse
import time
from itertools import cycle, islice
from typing import Any

from benchmarks.graders import long_pairs
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.can_fail import probe_suite

MAX_S_PER_1_000 = 60.0
_PER_CASE = 3
_KINDS: tuple[dict[str, Any], ...] = (
    {"type": "contains"},
    {"type": "not_contains", "value": "as an AI"},
    {"type": "matches", "value": r"order #\d{6}"},
    {"type": "exact_match", "strip_whitespace": True},
    {"type": "meteor", "threshold": 0.6},
    {"type": "rouge", "threshold": 0.6},
    {"type": "json_path", "path": "order.status", "value": "shipped"},
    {"type": "tool_called", "value": "entity.query"},
    {"type": "world_changes", "nothing_else": True},
)


def suite_of(checks: int) -> SuiteSpec:
    """Return a suite with so many checks."""
    kinds = cycle(_KINDS)
    cases = []
    for number, (question, expected) in enumerate(long_pairs(checks // _PER_CASE, words=30)):
        own = list(islice(kinds, _PER_CASE))
        turn = {"user": f"{question}?", "expected": expected, "assertions": own}
        cases.append({"name": f"Case {number}", "turns": [turn]})
    return SuiteSpec.model_validate({"suite": "S", "slug": "s", "agent": "a", "cases": cases})


def measure(*, checks: int) -> float:
    """Print how long a suite with so many checks takes; return the seconds for 1,000."""
    suite = suite_of(checks)
    began = time.perf_counter()
    probed = probe_suite(suite)
    took = time.perf_counter() - began
    print(
        f"{len(probed.checks):,} checks, {len(probed.cases):,} cases: {took:.1f} s {probed.counts}"
    )
    return took / checks * 1_000


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checks", type=int, default=1_000)
    raise SystemExit(measure(**vars(parser.parse_args())) > MAX_S_PER_1_000)


if __name__ == "__main__":
    main()
