"""A question to a model that helps people at their work, answered by a worker as a try.

So it has the limits, prices and ceilings of every other call. Its suite, and the agent that is the
model, exist only while they are frozen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify
from pydantic import ValidationError

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.judging.answers.asking import PromptText
from evals_app.engine.specs.base_spec import read_model
from evals_app.formats.snapshots.run_snapshot import read_case
from evals_app.models import Agent, Run, Suite, Transcript
from evals_app.models.people.activity import note_nothing
from evals_app.runs.playground import short_lived_suite
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import near

_MAX_OUTPUT_TOKENS = 16_000
_SCRIPTED = "scripted"


class Question(NamedTuple):
    """What is asked: `title` is for people, `about` what the answer is compared with later."""

    title: str
    prompt: PromptText
    about: str


class QuestionReply(NamedTuple):
    """The reply to a question; `problem` says why there is none."""

    reply: str
    about: str
    problem: str


def ask_model(
    model: str, question: Question, *, by: User, max_cost_usd: Decimal | None = None
) -> Run:
    """Start the run that asks a model.

    Raises:
        CannotStartError: it cannot be asked, with the reasons.
    """
    with _suite_for(model, question) as suite:
        run = start_run(suite, by=by, is_tryout=True, max_cost_usd=max_cost_usd)
    run.refresh_from_db(fields=["suite"])
    return run


def forecast_question(model: str, question: Question, *, by: User) -> Forecast:
    """Forecast what the question costs; nothing is asked.

    Raises:
        CannotStartError: as `ask_model`.
    """
    with _suite_for(model, question) as suite:
        expected = forecast(suite, by=by.pk)
    note_nothing()
    return expected


def answer_of(run: Run) -> QuestionReply:
    """Return the answer of a run that has ended."""
    execution = run.executions.get()
    about = read_case(run.snapshot.cases.get().content).turns[0].context[0]
    stored = Transcript.objects.of(execution)
    trial = None if stored is None else stored.to_trial()
    turn = trial.turns[-1] if trial and trial.turns else None
    if turn is None or turn.error or not turn.reply.strip():
        problem = (turn.error if turn else "") or execution.reason or "The model was not asked."
        return QuestionReply("", about, problem)
    return QuestionReply(turn.reply, about, "")


@contextmanager
def _suite_for(model: str, question: Question) -> Iterator[Suite]:
    """Write what a run of the question takes, and remove it in the same transaction."""
    with transaction.atomic():
        agent, is_own = _agent_for(model, question)
        with short_lived_suite(
            agent,
            name=question.title,
            slug=_free_slug(Suite, question.title),
            case=question.title,
            turns=[question.prompt.user],
            facts=[question.about],
        ) as suite:
            yield suite
        if is_own:
            agent.delete()


def _agent_for(model: str, question: Question) -> tuple[Agent, bool]:
    """Return the agent that is asked, and whether it exists for this question only."""
    try:
        spec = read_model(model)
    except ValidationError as error:
        raise CannotStartError(*messages_of(error)) from error
    if spec.provider == _SCRIPTED:
        scripted = Agent.objects.filter(driver=_SCRIPTED)
        agent = scripted.filter(slug=spec.name).first()
        if agent is None:
            hint = near(spec.name, scripted.values_list("slug", flat=True))
            raise CannotStartError(f"No scripted agent is called {spec.name!r}.{hint}")
        return agent, False
    agent = Agent(
        slug=_free_slug(Agent, question.title),
        name=question.title,
        driver="model",
        model=str(spec),
        system_prompt=escape_braces(question.prompt.system),
        settings={"max_output_tokens": _MAX_OUTPUT_TOKENS},
    )
    agent.save()
    return agent, True


def _free_slug(kind: type[Agent | Suite], title: str) -> str:
    slug = slugify(title)[:80]
    taken = kind._default_manager.filter(slug=slug).exists()  # noqa: SLF001 - Django has no other name for it
    return f"{slug}-question" if taken else slug
