"""Snapshots: everything a run uses, frozen as canonical JSON and known by its SHA-256."""

import hashlib
import json
from typing import Literal

from pydantic import Field

from evals_app.engine.spec import AgentSpec, ModelRef, ProviderSpec, Spec
from evals_app.engine.suite import SuiteSpec
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

SCHEMA_VERSION: Literal[1] = 1


class SnapshotSpec(Spec):
    """What a run was started with; later edits do not reach it.

    `judge` is the judge that was chosen at the start, `scripted` the agents that judges follow.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: SuiteSpec
    agent: AgentSpec
    judge: ModelRef | None = None
    scripted: list[AgentSpec] = Field(default_factory=list)
    fixtures: list[FixtureSpec] = Field(default_factory=list)
    entity_types: list[EntityTypeSpec] = Field(default_factory=list)
    providers: list[ProviderSpec] = Field(default_factory=list)

    def canonical(self) -> str:
        """Write it as the one JSON text that this content has, defaults included."""
        dumped = self.model_dump(mode="json", by_alias=True)
        return json.dumps(dumped, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def read(cls, content: str) -> "SnapshotSpec":
        return cls.model_validate_json(content)


def sha256_of(content: str) -> str:
    """Give the name of a content."""
    return hashlib.sha256(content.encode()).hexdigest()
