"""What a person writes about a user whom a model plays."""

from typing import Annotated

from pydantic import Field

from evals_app.engine.specs.base_spec import ModelRef, Prose, Spec

MIN_TRIALS = 3  # of a simulated conversation: the user says something else each time
MAX_FACTS = 50
USUAL_TURNS = 8
NO_END = (
    "A model plays the user, so add a check on the whole conversation that code decides, for example"
    " that a tool is called: the conversation ends when it passes. One that only forbids something"
    " passes from the start, so it does not count."
)

Fact = Annotated[str, Field(min_length=1, max_length=500)]


class SimulatedUserSpec(Spec):
    """A user whom a model plays, after the case's own turns, by rules that code keeps.

    The user may state the numbers, ids and addresses that are in `goal`, `facts`, the turns of the case
    and the agent's replies, and no others. The conversation ends as soon as all checks on the whole
    conversation have passed by which code sees that something was done, or after `max_turns` turns.
    """

    goal: Prose = Field(
        title="Goal",
        description="What the user wants, for example: Get the money back for order A-1042.",
    )
    facts: list[Fact] = Field(
        default_factory=list,
        title="Facts",
        description="What the user knows and may say. Any other number, id or address that the user"
        " states breaks the rules, and is never blamed on the agent.",
        max_length=MAX_FACTS,
    )
    manner: str = Field(
        default="",
        title="Manner",
        description="How the user writes, for example: impatient, in short sentences.",
    )
    max_turns: int = Field(
        default=USUAL_TURNS,
        title="At most",
        description="Turns of the whole conversation.",
        ge=2,
        le=50,
    )
    model: ModelRef | None = Field(
        default=None,
        title="Model that plays the user",
        description="provider/model, or scripted/AGENT. By default, the judge of the run.",
    )
