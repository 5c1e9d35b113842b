"""Schedules, as REST answers them."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from evals_app.engine.specs.rhythm import Frequency
from evals_app.reports.answers.run_answers import Answer


class DueRunAnswer(Answer):
    """A suite at a time when its schedule was due: one run, or the reason why there is none."""

    due_at: datetime
    suite: str = Field(description="Slug.")
    state: Literal["due", "started", "skipped", "refused"]
    why: str | None = Field(description="Why it was skipped or did not start.")
    run: int | None


class ScheduleAnswer(Answer):
    """A schedule, as lists show it."""

    id: int
    name: str
    suites: list[str] = Field(description="Slugs.")
    frequency: Frequency
    at: str
    cron: str
    time_zone: str
    in_words: str = Field(description="When it is due, in words.")
    agent: str | None = Field(description="Slug; null: the suites' own agents.")
    model: str | None = Field(description="Replaces the model of the agents.")
    trials: int | None
    max_cost_usd: float | None = Field(description="Cost limit of each run.")
    baseline: Literal["latest", "pinned"] | None
    is_enabled: bool
    owner: str | None = Field(
        description="The person it runs as: who saved it last. null: deleted."
    )
    problems: list[str] = Field(description="What prevents it from starting runs.")
    next_at: datetime | None
    last: list[DueRunAnswer] = Field(description="The results of the last time it was due.")
    created_at: datetime
    updated_at: datetime


class ScheduleDetails(ScheduleAnswer):
    """A schedule with the times that come next."""

    next_times: list[datetime] = Field(description="The next five; none while it is disabled.")
