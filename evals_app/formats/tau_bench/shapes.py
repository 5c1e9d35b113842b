"""The shapes of a task, without keys that say nothing."""

from typing import Annotated, Any, Literal

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

_DATA = "Here agents begin with test data. Put this there. Left out."
_FOR_PEOPLE = "Only for people. Left out."

Text = Annotated[str, Field(min_length=1)]


class _Part(Foreign):
    overlooks = True


class TauAction(_Part):
    """A tool call, of the agent or of the user; `compare_args` are the arguments that count."""

    lost = {"info": _FOR_PEOPLE}

    action_id: str | int = ""
    requestor: Literal["assistant", "user"] = "assistant"
    name: Annotated[Text, Field(description="The name of the tool.")]
    arguments: dict[str, Any] = {}
    compare_args: list[str] | None = None


class TauCriteria(_Part):
    """What a task is judged by; `reward_basis` says which of it decides."""

    actions: list[object] = []
    env_assertions: list[object] = []
    communicate_info: list[str] = []
    nl_assertions: list[str] = []
    reward_basis: list[str] = ["DB", "COMMUNICATE"]


class TauDescription(_Part):
    """What a task is about, for people."""

    purpose: str = ""
    relevant_policies: str = ""
    notes: str = ""


class TauState(_Part):
    """What there is before the first message."""

    lost = {"initialization_data": _DATA, "initialization_actions": _DATA}

    message_history: list[object] = []


class TauTask(_Part):
    """A task."""

    lost = {
        "user_tools": "Only agents have tools here. Left out.",
        "required_documents": "Put these documents into test data. Left out.",
        **dict.fromkeys(("issues", "annotations"), _FOR_PEOPLE),
    }

    id: Annotated[Text | int, Field(description="The name of the task.")]
    description: TauDescription = TauDescription()
    user_scenario: object = None
    ticket: str = ""
    initial_state: TauState = TauState()
    evaluation_criteria: TauCriteria | None = None
