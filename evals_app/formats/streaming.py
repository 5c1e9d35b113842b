"""Streaming that is asked of agents which cannot: only models are called in that mode."""

from collections.abc import Iterator, Mapping, Sequence

from evals_app.engine.agent_spec import OUTSIDE, AgentSpec
from evals_app.engine.suite import SuiteSpec
from evals_app.formats.draft import Draft
from evals_app.formats.problems import Problem

NO_STREAMING = "Only agents that are models can stream. The setting has no effect for this one."


def streaming_warnings(drafts: Sequence[Draft], agents: Mapping[str, str]) -> Iterator[Problem]:
    """Warn of cases that ask for streaming where it does nothing, once for each suite.

    `agents` gives the driver of each agent that is stored.
    """
    made = (item.spec for item in drafts if isinstance(item.spec, AgentSpec))
    drivers = {**agents, **{spec.slug: spec.driver for spec in made}}
    for draft in drafts:
        if not isinstance(draft.spec, SuiteSpec):
            continue
        if drivers.get(draft.spec.agent) not in OUTSIDE:
            continue
        streamed = [n for n, case in enumerate(draft.spec.cases) if case.streaming]
        for n in streamed[:1]:
            yield draft.place(("cases", n, "streaming"), NO_STREAMING, level="warning")
