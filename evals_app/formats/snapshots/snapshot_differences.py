"""What is different between two snapshots: the agent, what measures it, or neither."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from evals_app.formats.snapshots.key_differences import KeyDifference, differences
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec

_SHOWN = 50  # differences of a part

_FIRST_KEYS = re.compile(r"([\w-]+)(?:\.([\w-]+))?(?:\.([\w-]+))?")
# Left out before the rest is validated, if both snapshots have the same: a fixture may be large.
_LARGE = ("fixtures", "entity_types", "scripted", "providers")


class SnapshotPart(StrEnum):
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
        return self not in {SnapshotPart.AGENT, SnapshotPart.RUN}


_PARTS = {
    "agent": SnapshotPart.AGENT,
    "suite": SnapshotPart.SUITE,
    "fixtures": SnapshotPart.FIXTURES,
    "entity_types": SnapshotPart.FIXTURES,
    "judge": SnapshotPart.JUDGE,
    "scripted": SnapshotPart.JUDGE,
    "evaluation_steps": SnapshotPart.JUDGE,
    "similarity": SnapshotPart.SIMILARITY,
}
_OF_THE_SUITE = {
    **dict.fromkeys(("judge_model", "judge_prompt", "judge_context"), SnapshotPart.JUDGE),
    **dict.fromkeys(
        ("trials", "concurrency", "run_rule", "gates", "stop_when_decided"), SnapshotPart.RUN
    ),
    "agent": SnapshotPart.AGENT,
    "fixtures": SnapshotPart.FIXTURES,
}
_OF_PROVIDERS = {
    "prices": SnapshotPart.PRICES,
    **dict.fromkeys(("max_concurrency", "requests_per_minute"), SnapshotPart.RUN),
}
# No result depends on them.
_FOR_PEOPLE = {"suite", "slug", "description", "tags", "score_scale"}


@dataclass(frozen=True, slots=True)
class PartDifferences:
    """What is different in one part: the first values, and how many more there are."""

    part: SnapshotPart
    values: tuple[KeyDifference, ...]
    more: int = 0

    def without_values(self) -> "PartDifferences":
        """Return the same with the number of values alone."""
        return PartDifferences(self.part, (), len(self.values) + self.more)


class UnreadableSnapshotError(ValueError):
    """A snapshot that another version wrote and this one cannot read."""


def snapshot_differences(before: str, after: str) -> tuple[PartDifferences, ...]:
    """Compare the contents of two snapshots, part by part; their cases are not in them.

    Raises:
        UnreadableError: one of them cannot be read.
    """
    if before == after:
        return ()
    left, right = _read_both(before, after)
    found: defaultdict[SnapshotPart, list[KeyDifference]] = defaultdict(list)
    for difference in differences(left, right):
        if (part := _part_of(difference.keys, left)) is not None:
            found[part].append(difference)
    return tuple(
        PartDifferences(part, tuple(found[part][:_SHOWN]), max(0, len(found[part]) - _SHOWN))
        for part in SnapshotPart
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
        raise UnreadableSnapshotError from error
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


def _part_of(keys: str, snapshot: SnapshotSpec) -> SnapshotPart | None:
    """Return the part that a path of keys is about; None if no result depends on it."""
    match = _FIRST_KEYS.match(keys)
    first, second, third = match.groups("") if match else ("", "", "")
    if (first, second, third) == ("suite", "gates", "min_judge_agreement"):
        return SnapshotPart.JUDGE
    if first == "suite":
        return None if second in _FOR_PEOPLE else _OF_THE_SUITE.get(second, SnapshotPart.SUITE)
    if first == "judge_trust":  # how people agree with judges that decide anyway changes nothing
        return SnapshotPart.JUDGE if second == "trusted" else None
    if first == "providers" and third not in _OF_PROVIDERS:
        model = snapshot.agent.asked_model
        return (
            SnapshotPart.AGENT
            if model is not None and model.provider == second
            else SnapshotPart.JUDGE
        )
    return _OF_PROVIDERS[third] if first == "providers" else _PARTS.get(first)
