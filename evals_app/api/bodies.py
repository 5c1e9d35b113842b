"""The bodies of requests: what may be written in them, and what is wrong with one."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from evals_app.api.problems import Error, RefusedError, error_at, unknown
from evals_app.engine.spec import Name, Slug, Spec, Usd
from evals_app.engine.suite import near
from evals_app.formats.problems import keys_text, shown
from evals_app.models import Agent, Suite

B = TypeVar("B", bound=Spec)

Ceiling = Annotated[Usd, Field(gt=0)]
Words = Annotated[list[Name], Field(max_length=1000)]


class StartRun(Spec):
    """What to run."""

    suite: Slug
    agent: Annotated[Slug | None, Field(description="Instead of the suite's own agent.")] = None
    model: Annotated[
        str | None,
        Field(min_length=1, max_length=300, description="Instead of the agent's own model."),
    ] = None
    cases: Annotated[Words, Field(description="Parts of case names; one must occur.")] = Field(
        default_factory=list
    )
    tags: Annotated[Words, Field(description="One must be among the case's or the suite's.")] = (
        Field(default_factory=list)
    )
    trials: Annotated[int | None, Field(ge=1, le=100, description="Of each case.")] = None
    concurrency: Annotated[
        int | None, Field(ge=1, le=1000, description="Conversations at the same time.")
    ] = None
    max_cost_usd: Annotated[
        Ceiling | None, Field(description="The run stops before a call that could cost more.")
    ] = None

    def choices(self) -> dict[str, Any]:
        """Give what was chosen beside suite and agent, as operations on runs take it."""
        return {
            "model": self.model or "",
            "cases": self.cases,
            "tags": self.tags,
            "trials": self.trials,
            "concurrency": self.concurrency,
            "max_cost_usd": self.max_cost_usd,
        }


class RerunCases(Spec):
    """Which cases to run again, in a new run."""

    only: Annotated[
        Literal["failed", "errored", "all"],
        Field(description="errored: with cancelled and not held ones."),
    ] = "failed"


class NewCeiling(Spec):
    """How a run that was stopped goes on."""

    max_cost_usd: Annotated[
        Ceiling | None, Field(description="New ceiling of the whole run; null: as it was.")
    ] = None


class Pin(Spec):
    """Whether to keep the transcripts of a run."""

    is_pinned: Annotated[bool, Field(description="They are kept, however old the run gets.")]


class ImportedFile(Spec):
    """A file in a JSON import."""

    path: Annotated[str, Field(min_length=1, max_length=1000)]
    content: str


class ImportFiles(Spec):
    """Files to import together."""

    files: Annotated[list[ImportedFile], Field(min_length=1, max_length=1000)]


class Nothing(Spec):
    """A body that holds nothing."""


def read_body(model: type[B], data: Any) -> B:  # noqa: ANN401 - whatever was sent
    """Read a body.

    Raises:
        RefusedError: with everything that is wrong with it.
    """
    if not isinstance(data, dict):
        raise RefusedError("Send a JSON object.", errors=[error_at("", "Send a JSON object.")])
    # A form's values would be lists; here there are none, but an empty body looks like one.
    given = dict(data)
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        errors = [_error(each, model) for each in exc.errors(include_url=False)]
        raise RefusedError(_sentence(errors), errors=errors) from exc


def _error(error: Any, model: type[Spec]) -> Error:  # noqa: ANN401 - ErrorDetails of pydantic
    loc, kind = error["loc"], error["type"]
    keys = keys_text(tuple(loc))
    if kind == "extra_forbidden":
        known = model.model_fields if len(loc) == 1 else ImportedFile.model_fields
        return error_at(keys, unknown(str(loc[-1]), known, what="key"))
    if kind == "missing":
        return error_at(keys, "This key is missing.")
    message = str(error["msg"]).removeprefix("Value error, ")
    return error_at(keys, message, shown(error["input"], tuple(loc)) or None)


def _sentence(errors: list[Error]) -> str:
    first = errors[0]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{first['keys']}: {first['message']}{more}"


def suite_and_agent(body: StartRun) -> tuple[Suite, Agent | None]:
    """Find what a body names.

    Raises:
        RefusedError: there is no such suite or agent.
    """
    suite = Suite.objects.filter(slug=body.suite).first()
    agent = Agent.objects.filter(slug=body.agent).first() if body.agent else None
    errors = []
    if suite is None:
        errors.append(_unknown("suite", body.suite, Suite))
    if body.agent is not None and agent is None:
        errors.append(_unknown("agent", body.agent, Agent))
    if suite is None or errors:
        raise RefusedError(errors[0]["message"], errors=errors)
    return suite, agent


def _unknown(what: str, slug: str, model: type[Suite] | type[Agent]) -> dict[str, Any]:
    known = model.objects.values_list("slug", flat=True)
    return error_at(what, f"There is no {what} {slug!r}.{near(slug, known)}", slug)
