"""What a person writes about how an agent over HTTP is called: how often."""

from dataclasses import dataclass

from pydantic import Field

from evals_app.engine.spec import Spec


class PaceSpec(Spec):
    """How often an agent is called, by all processes together. Each message is one call."""

    max_concurrency: int | None = Field(
        default=None,
        title="Messages at once",
        description="At most so many messages at the same time. By default, no limit.",
        ge=1,
        le=10_000,
    )
    requests_per_minute: int | None = Field(
        default=None,
        title="Messages per minute",
        description="At most so many messages a minute, evenly spread. By default, no limit.",
        ge=1,
        le=100_000,
    )


@dataclass(frozen=True, slots=True)
class Lane:
    """What all processes share of an agent, under a name that no provider has."""

    slug: str
    max_concurrency: int | None
    requests_per_minute: int | None
