"""What is different between two snapshots: the agent, what measures it, or neither."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from evals_app.formats.snapshots.key_differences import Difference, differences
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec

_SHOWN = 50  # differences of a part

_FIRST_KEYS = re.compile(r"([\w-]+)(?:\.([\w-]+))?(?:\.([\w-]+))?")
# Left out before the rest is validated, if both snapshots have the same: a fixture may be large.
_LARGE = ("fixtures", "entity_types", "scripted", "providers")


class Part(StrEnum):
    """A part of what a run was started with, in the order in which pages show them."""

    CASE = "case"  # in the history of a case; comparisons list their cases apart
    AGENT = "agent"
    SUITE = "suite"
    FIXTURES = "fixtures"
    JUDGE = "judge"
    SIMILARITY = "similarity"
    PRICES = "prices"
    RUN = "run"  # how often and how fast cases run, and the rules for the run as a whole

    @property
    def is_yardstick(self) -> bool:
        """Whether numbers cannot be compared that were measured with different ones."""
        return self not in {Part.AGENT, Part.RUN}


_PARTS = {
    "agent": Part.AGENT,
    "suite": Part.SUITE,
    "fixtures": Part.FIXTURES,
    "entity_types": Part.FIXTURES,
    "judge": Part.JUDGE,
    "scripted": Part.JUDGE,
    "evaluation_steps": Part.JUDGE,
    "similarity": Part.SIMILARITY,
}
_OF_THE_SUITE = {
    **dict.fromkeys(("judge_model", "judge_prompt", "judge_context"), Part.JUDGE),
    **dict.fromkeys(("trials", "concurrency", "run_rule", "gates", "stop_when_decided"), Part.RUN),
    "agent": Part.AGENT,
    "fixtures": Part.FIXTURES,
}
_OF_PROVIDERS = {
    "prices": Part.PRICES,
    **dict.fromkeys(("max_concurrency", "requests_per_minute"), Part.RUN),
}
# No result depends on them.
_FOR_PEOPLE = {"suite", "slug", "description", "tags", "score_scale"}


@dataclass(frozen=True, slots=True)
class PartDifferences:
    """What is different in one part: the first values, and how many more there are."""

    part: Part
    values: tuple[Difference, ...]
    more: int = 0

    def without_values(self) -> "PartDifferences":
        """Return the same with the number of values alone."""
        return PartDifferences(self.part, (), len(self.values) + self.more)


class UnreadableError(ValueError):
    """A snapshot that another version wrote and this one cannot read."""


def snapshot_differences(before: str, after: str) -> tuple[PartDifferences, ...]:
    """Compare the contents of two snapshots, part by part; their cases are not in them.

    Raises:
        UnreadableError: one of them cannot be read.
    """
    if before == after:
        return ()
    left, right = _read_both(before, after)
    found: defaultdict[Part, list[Difference]] = defaultdict(list)
    for difference in differences(left, right):
        if (part := _part_of(difference.keys, left)) is not None:
            found[part].append(difference)
    return tuple(
        PartDifferences(part, tuple(found[part][:_SHOWN]), max(0, len(found[part]) - _SHOWN))
        for part in Part
        if part in found
    )


def _read_both(before: str, after: str) -> tuple[SnapshotSpec, SnapshotSpec]:
    left, right = json.loads(before), json.loads(after)
    for key in _LARGE:
        if left.get(key) == right.get(key):
            left.pop(key, None)
            right.pop(key, None)
    try:
        specs = SnapshotSpec.read(json.dumps(left)), SnapshotSpec.read(json.dumps(right))
    except ValidationError as error:
        raise UnreadableError from error
    return _with_shared_providers(*specs), _with_shared_providers(*reversed(specs))


def _with_shared_providers(spec: SnapshotSpec, other: SnapshotSpec) -> SnapshotSpec:
    """Leave out providers and prices of models that the other does not use.

    That another model is used is a difference of the agent or of the judge.
    """
    prices = {
        provider.slug: {price.model for price in provider.prices} for provider in other.providers
    }
    shared = [
        provider.model_copy(
            update={"prices": [p for p in provider.prices if p.model in prices[provider.slug]]}
        )
        for provider in spec.providers
        if provider.slug in prices
    ]
    return spec.model_copy(update={"providers": shared})


def _part_of(keys: str, snapshot: SnapshotSpec) -> Part | None:
    """Return the part that a path of keys is about; None if no result depends on it."""
    match = _FIRST_KEYS.match(keys)
    first, second, third = match.groups("") if match else ("", "", "")
    if (first, second, third) == ("suite", "gates", "min_judge_agreement"):
        return Part.JUDGE
    if first == "suite":
        return None if second in _FOR_PEOPLE else _OF_THE_SUITE.get(second, Part.SUITE)
    if first == "judge_trust":  # how people agree with judges that decide anyway changes nothing
        return Part.JUDGE if second == "trusted" else None
    if first == "providers" and third not in _OF_PROVIDERS:
        model = snapshot.agent.asked_model
        return Part.AGENT if model is not None and model.provider == second else Part.JUDGE
    return _OF_PROVIDERS[third] if first == "providers" else _PARTS.get(first)
