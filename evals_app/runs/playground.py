"""A message to an agent, answered by a worker as a try: the same calls, limits and ledger.

The suite of such a run exists only while it is frozen.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.specs.agent_spec import OUTSIDE
from evals_app.models import Agent, Case, Run, Suite, Turn
from evals_app.runs.starting.start_run import start_run
from fixtures_app.models import Fixture

_SLUG = "talk-with-"
_SLUG_CHARS = 100
_NAME_CHARS = 200
REPLY_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A message that was answered."""

    user: str
    reply: str


def start_talk(
    agent: Agent,
    message: str,
    *,
    before: Sequence[Exchanged] = (),
    fixture: Fixture | None = None,
    by: User | None = None,
) -> Run:
    """Start the run that answers a message, after the earlier messages of the conversation.

    Rules may ask for the number of the turn, and cost nothing, so they answer from the start. Other
    agents are sent the earlier messages.

    Raises:
        CannotStartError: the agent cannot be asked.
    """
    turns = [*(pair.user for pair in before if agent.is_scripted), message]
    history = [] if agent.is_scripted else _history(before)
    with short_lived_suite(
        agent,
        name=f"Talk with {agent.name}",
        slug=_free_slug(agent),
        case=f"Message {len(before) + 1}",
        turns=turns,
        history=history,
    ) as suite:
        if fixture is not None:
            suite.fixtures.add(fixture)
        run = start_run(suite, by=by, is_tryout=True)
    run.refresh_from_db(fields=["suite"])
    return run


@contextmanager
def short_lived_suite(
    agent: Agent,
    *,
    name: str,
    slug: str,
    case: str,
    turns: Sequence[str],
    history: Sequence[Mapping[str, str]] = (),
    facts: Sequence[str] = (),
) -> Iterator[Suite]:
    """Write a suite of one case, and remove it on leaving: a run of it has its snapshot.

    `turns` are messages to the agent; `facts` are kept with them, and it never sees them.
    """
    with transaction.atomic():
        suite = Suite.objects.create(slug=slug, name=name[:_NAME_CHARS], agent=agent, concurrency=1)
        row = Case.objects.create(
            suite=suite,
            name=case,
            history=list(history),
            turn_timeout_s=REPLY_TIMEOUT_S,
            # Without anything to check, a reply would be inconclusive.
            max_time_ms=int(REPLY_TIMEOUT_S * 1000) * len(turns),
        )
        Turn.objects.bulk_create(
            Turn(case=row, position=position, user=escape_braces(text), context=list(facts))
            for position, text in enumerate(turns)
        )
        yield suite
        suite.delete()


def takes_fixture(agent: Agent) -> bool:
    """Whether an agent can use the tools of a fixture."""
    return agent.driver not in OUTSIDE


def _history(before: Sequence[Exchanged]) -> list[dict[str, str]]:
    return [
        {"role": role, "content": escape_braces(text)}
        for pair in before
        for role, text in (("user", pair.user), ("assistant", pair.reply))
    ]


def _free_slug(agent: Agent) -> str:
    slug = f"{_SLUG}{agent.slug}"[:_SLUG_CHARS].rstrip("-")
    # A suite of a person may have this name.
    return f"{_SLUG}{agent.pk}-again" if Suite.objects.filter(slug=slug).exists() else slug
