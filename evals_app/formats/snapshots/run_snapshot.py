"""Snapshots: everything a run uses, frozen as canonical JSON and known by its SHA-256.

The cases may be many, so each is a text of its own; the rest is the snapshot's head.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from pydantic import ConfigDict, Field

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelRef, ProviderSpec, Spec
from evals_app.engine.specs.inventory import Inventory
from evals_app.engine.statistics.trust import JudgeTrust
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec
from evals_app.formats.checking.naming import FixtureContents, inventory_of
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

SCHEMA_VERSION: Literal[2] = 2
# Of a case: no result depends on them.
NOT_IN_DIGEST = ("name", "description", "tags", "enabled", "trials")


class SnapshotSpec(Spec):
    """What a run was started with; later edits do not reach it.

    As it is stored its suite has no cases: they are stored separately. `judge` is the judge that was chosen
    at the start, `similarity` the way to compare texts, `scripted` the agents that judges follow,
    `evaluation_steps` those of G-Eval that existed, by the key of their Recipe. `judge_trust` is how
    judges agreed with people, if the suite asks for that.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    suite: SuiteSpec
    agent: AgentSpec
    judge: ModelRef | None = None
    similarity: SimilaritySpec | None = None
    scripted: list[ScriptedAgent] = Field(default_factory=list)
    evaluation_steps: dict[str, list[str]] = Field(default_factory=dict)
    fixtures: list[FixtureSpec] = Field(default_factory=list)
    entity_types: list[EntityTypeSpec] = Field(default_factory=list)
    providers: list[ProviderSpec] = Field(default_factory=list)
    judge_trust: JudgeTrust | None = None

    @property
    def inventory(self) -> Inventory:
        types = [item.slug for item in self.entity_types]
        return inventory_of(
            self.agent.slug, self.agent.abilities, map(FixtureContents.of, self.fixtures), types
        )

    def canonical(self) -> str:
        """Write it as the one JSON text that this content has, defaults included."""
        return _canonical(self)

    @classmethod
    def read(cls, content: str) -> "SnapshotSpec":
        """Read what was stored, whatever the operator permits by now."""
        return cls.model_validate_json(content, context=FROZEN)


class _SuitePart(Spec):
    model_config = ConfigDict(extra="ignore")

    schema_version: Literal[2]
    suite: SuiteSpec


def read_suite(content: str) -> SuiteSpec:
    """Read only the suite of a stored snapshot: its fixtures may be large."""
    return _SuitePart.model_validate_json(content, context=FROZEN).suite


def as_in_snapshots(suite: SuiteSpec) -> SuiteSpec:
    """Return a suite as snapshots have it: with its keys in order, and permissions no longer asked."""
    return SuiteSpec.model_validate_json(_canonical(suite), context=FROZEN)


def canonical_case(case: CaseSpec) -> str:
    """Write a case as the one JSON text that it has."""
    return _canonical(case)


def read_case(content: str) -> CaseSpec:
    """Read a case that was stored, whatever the operator permits by now."""
    return CaseSpec.model_validate_json(content, context=FROZEN)


def build_models() -> None:
    """Build what reads snapshots now, not with the first one: processes that are forked later share it."""
    for spec in (SnapshotSpec, CaseSpec):
        spec.model_rebuild()


def case_digest(content: str) -> str:
    """Return a digest of what a canonical case does: equal ones have comparable results.

    Its name, description, tags and number of trials do not matter, nor whether it is enabled.
    """
    case = json.loads(content)
    for key in NOT_IN_DIGEST:
        case.pop(key, None)
    text = json.dumps(case, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


# What the agent sees of a case, and of each turn; the rest is for checks alone.
_SEEN = ("channel", "context_params", "clock", "history")
_SEEN_OF_TURN = ("user", "files")
_USERS = ("replay", "simulated_user")  # left out where they are not set, as most cases have it


def conversation_digest(content: str) -> str:
    """Return a digest of what the agent sees of a canonical case.

    Where it is the same, a stored conversation can be graded by other checks.
    """
    case = json.loads(content)
    turns = [[turn.get(key) for key in _SEEN_OF_TURN] for turn in case["turns"]]
    users = [case[key] for key in _USERS if key in case]
    text = json.dumps([*(case.get(key) for key in _SEEN), turns, *users], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(spec: Spec) -> str:
    dumped = spec.model_dump(mode="json", by_alias=True)
    return json.dumps(dumped, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Name:
    """Finds the name of a content, piece by piece: its cases in order, then its head."""

    def __init__(self, cases: Iterable[str] = ()) -> None:
        self._hash = hashlib.sha256()
        for case in cases:
            self.add(case)

    def add(self, case: str) -> None:
        # A canonical text has no line break, so nothing else gives the same lines.
        self._hash.update(case.encode() + b"\n")

    def of(self, head: str) -> str:
        whole = self._hash.copy()
        whole.update(head.encode())
        return whole.hexdigest()
