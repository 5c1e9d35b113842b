"""The spec of how an agent over HTTP is called: how often, and with which token."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, model_validator

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.specs.base_spec import SECONDS, Spec
from evals_app.engine.specs.tool_spec import (
    CalledUrl,
    FromEnvironment,
    host_problem,
    misplaced_variables,
    template_problem,
    variable_problem,
)
from evals_app.engine.specs.wire_spec import Place
from fixtures_app.ground.spec_errors import error_at

JOB = "{{job}}"


class PaceSpec(Spec):
    """How often an agent may be called, by all processes together. Each message is one call."""

    max_concurrency: int | None = Field(
        default=None,
        title="Parallel messages",
        description="The most messages to send at the same time. By default, no limit.",
        ge=1,
        le=10_000,
    )
    requests_per_minute: int | None = Field(
        default=None,
        title="Messages per minute",
        description="The most messages to send per minute, evenly spread. By default, no limit.",
        ge=1,
        le=100_000,
    )


@dataclass(frozen=True, slots=True)
class RateGroup:
    """An agent's rate limits, shared by all processes under a name that no provider has."""

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
        title="Token address",
        description="Where tokens are issued, for example https://login.example.org/oauth/token.",
    )
    client_id: _TEXT = Field(title="Client id", description="The client's name on that server.")
    client_secret: Annotated[FromEnvironment, refuse_if(_secret_problem, once=True)] | None = Field(
        default=None,
        title="Client secret",
        description="Name of the environment variable with the secret. In files: {env: NAME}. By"
        " default, there is none: the client certificate of the agent says who asks.",
    )
    scope: _TEXT | None = Field(
        default=None, title="Scope", description="The scope to request. By default, none."
    )
    audience: _TEXT | None = Field(
        default=None,
        title="Audience",
        description="The API that the token is for, if the server requires it. By default, left out.",
    )
    secret_in: Literal["header", "body"] = Field(
        default="header",
        title="Send the client secret in",
        description="Where the server expects the id and the secret.",
        json_schema_extra={"words": {"header": "The header", "body": "The body"}},
    )

    @property
    def secret(self) -> dict[str, FromEnvironment]:
        """Return what is read from the environment, by key."""
        return {} if self.client_secret is None else {"client_secret": self.client_secret}

    @model_validator(mode="after")
    def _secret_goes_to_its_host(self, info: ValidationInfo) -> Self:
        secret = self.secret
        if errors := list(misplaced_variables(secret, self.token_url, info)):
            raise ValidationError.from_exception_data("OAuthSpec", errors)
        return self


_STATES = list[Annotated[str, Field(min_length=1, max_length=200)]]


class PollSpec(Spec):
    """How to wait for an agent that answers later: it first answers with a job.

    The first answer has status 202, or the id of the job. The job is requested with GET and the same
    headers until it is done, within the time limit of the turn.
    """

    interval_s: float = Field(
        title="Interval",
        description="How often to check for the result. Fill this in if your agent answers with a job.",
        json_schema_extra=SECONDS,
        ge=0.1,
        le=300,
    )
    url: (
        Annotated[
            str,
            Field(max_length=2000),
            refuse_if(host_problem),
            refuse_if(template_problem, once=True),
        ]
        | None
    ) = Field(
        default=None,
        title="Job address",
        description=f"Write {JOB} where its id goes. By default, the Location header of the first"
        " answer, on the same host as the agent.",
    )
    job: Place | None = Field(
        default=None,
        title="Job id",
        description=f"Where the first answer has it, for example job.id. Needed for {JOB}.",
    )
    state: Place | None = Field(
        default=None,
        title="Job state",
        description="Where the answers have the state, for example status. By default, a job is done"
        " once its answer has a status other than 202.",
    )
    done: _STATES = Field(
        default=["done", "completed", "succeeded", "success", "finished"],
        title="Done states",
        description="States that mean the result is ready. Case is ignored.",
        min_length=1,
        max_length=50,
    )
    failed: _STATES = Field(
        default=["failed", "error", "cancelled", "canceled", "expired"],
        title="Failed states",
        description="States that fail the turn. In any other state, Evalwell waits. Case is ignored.",
        min_length=1,
        max_length=50,
    )
    result: Place | None = Field(
        default=None,
        title="Result",
        description="Where the last answer has the reply. By default, the whole answer.",
    )

    @model_validator(mode="after")
    def _knows_its_job(self) -> Self:
        error = None
        if self.url is not None and JOB in self.url and self.job is None:
            message = f"Write in job where the first answer has the id for {JOB}."
            error = error_at("no_job", message, ("url",), self.url)
        elif self.job is not None and JOB not in (self.url or ""):
            message = f"Write {JOB} in url where the id of the job goes, or leave job out."
            error = error_at("no_place_of_job", message, ("job",), self.job)
        if error:
            raise ValidationError.from_exception_data("PollSpec", [error])
        return self
