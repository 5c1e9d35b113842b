"""Webhooks and their deliveries, as REST answers them."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from evals_app.reports.answers.run_answers import Answer


class WebhookAnswer(Answer):
    """A webhook. Its address may be a secret, so only the host is shown."""

    id: int
    name: str
    host: str
    format: Literal["json", "slack"]
    on_end: bool
    on_failure: bool
    on_worse: bool
    suites: list[str] = Field(description="Slugs; empty: all suites.")
    is_enabled: bool
    created_at: datetime
    updated_at: datetime


class NewWebhook(WebhookAnswer):
    """A webhook that was created."""

    secret: str | None = Field(description="Signs its messages; null for chats.")


class DeliveryAnswer(Answer):
    """A message, and what came of it."""

    id: int
    message_id: str = Field(description="The header webhook-id of every attempt.")
    run: int | None = Field(description="null: a test.")
    event: Literal["ended", "failed", "worse", "test"] | None
    state: Literal["waiting", "delivered", "failed", "dropped"]
    attempts: int
    next_at: datetime | None
    attempted_at: datetime | None
    status_code: int | None = Field(description="Of the last attempt.")
    answer: str | None = Field(description="Its beginning; null for hosts in private networks.")
    problem: str | None
    body: str | None = Field(description="What is sent, as text.")
    created_at: datetime
