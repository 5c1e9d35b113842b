"""What a person writes about how an agent over HTTP is called: how often, and with which token."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from evals_app.engine.permits import checked
from evals_app.engine.spec import SECONDS, Spec
from evals_app.engine.tool_spec import (
    CalledUrl,
    FromEnvironment,
    host_problem,
    template_problem,
    variable_problem,
)
from evals_app.engine.wire_spec import Place
from fixtures_app.ground.spec_errors import located

JOB = "{{job}}"


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


_TEXT = Annotated[str, Field(min_length=1, max_length=2000)]


def _secret_problem(secret: FromEnvironment) -> str | None:
    return variable_problem(secret.env)


class OAuthSpec(Spec):
    """Where an agent over HTTP gets its access token: OAuth 2 client credentials.

    The token is sent as `Authorization: Bearer`.
    """

    token_url: CalledUrl = Field(
        title="Address of the token",
        description="Where tokens are issued, for example https://login.example.org/oauth/token.",
    )
    client_id: _TEXT = Field(title="Client id", description="The name of the client there.")
    client_secret: Annotated[FromEnvironment, checked(_secret_problem, once=True)] = Field(
        title="Client secret",
        description="Name of the environment variable that has it. In files: {env: NAME}.",
    )
    scope: _TEXT | None = Field(
        default=None, title="Scope", description="What to ask for. By default, nothing."
    )
    audience: _TEXT | None = Field(
        default=None,
        title="Audience",
        description="For whom the token is, if the server asks for it. By default, left out.",
    )
    secret_in: Literal["header", "body"] = Field(
        default="header",
        title="Client secret is sent in",
        description="How the server expects id and secret.",
        json_schema_extra={"words": {"header": "The header", "body": "The body"}},
    )


_STATES = list[Annotated[str, Field(min_length=1, max_length=200)]]


class PollSpec(Spec):
    """How to wait for an agent that answers later: it answers with a job, which is asked for.

    The first answer has status 202, or the id of the job. The job is asked for with GET and the same
    headers until it is done, within the time limit of the turn.
    """

    interval_s: float = Field(
        title="Ask for the result every",
        description="The pause between two questions. Fill it in if your agent answers with a job.",
        json_schema_extra=SECONDS,
        ge=0.1,
        le=300,
    )
    url: (
        Annotated[
            str,
            Field(max_length=2000),
            checked(host_problem),
            checked(template_problem, once=True),
        ]
        | None
    ) = Field(
        default=None,
        title="Address of the job",
        description=f"With {JOB} where its id goes. By default, the Location header of the first"
        " answer, on the same host as the agent.",
    )
    job: Place | None = Field(
        default=None,
        title="Id of the job",
        description=f"Where the first answer has it, for example job.id. Needed for {JOB}.",
    )
    state: Place | None = Field(
        default=None,
        title="State of the job",
        description="Where the answers say how far it is, for example status. By default, a job is"
        " done once its answer has another status than 202.",
    )
    done: _STATES = Field(
        default=["done", "completed", "succeeded", "success", "finished"],
        title="States that are done",
        description="Case is ignored.",
        min_length=1,
        max_length=50,
    )
    failed: _STATES = Field(
        default=["failed", "error", "cancelled", "canceled", "expired"],
        title="States that have failed",
        description="The turn fails. In any other state the job is waited for. Case is ignored.",
        min_length=1,
        max_length=50,
    )
    result: Place | None = Field(
        default=None,
        title="Result",
        description="Where the last answer has the reply. By default, all of it.",
    )

    @model_validator(mode="after")
    def _knows_its_job(self) -> Self:
        error = None
        if self.url is not None and JOB in self.url and self.job is None:
            message = f"Write in job where the first answer has the id for {JOB}."
            error = located("no_job", message, ("url",), self.url)
        elif self.job is not None and JOB not in (self.url or ""):
            message = f"Write {JOB} in url where the id of the job goes, or leave job out."
            error = located("no_place_of_job", message, ("job",), self.job)
        if error:
            raise ValidationError.from_exception_data("PollSpec", [error])
        return self
