"""The shapes of ADK's files, new and old, with keys as eval_id and without empty ones."""

from typing import Annotated, Any, Literal

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

Text = Annotated[str, Field(min_length=1)]
Args = dict[str, Any]

_NOT_TEXT = "Images, audio and files in messages are left out."
_ON_THE_WAY = "Only the reply at the end of a turn is compared. What is said before it is left out."
_TOOLS_RUN = (
    "Tools run here. To fix what they return, give the agent tools with canned results. Left out."
)
_NO_STATE = "The state of a session cannot be checked here. Left out."
_JUDGE = "The judge of the suite or the site decides. Left out."


class _Part(Foreign):
    overlooks = True


class RubricContent(_Part):
    """The text of a rubric."""

    text_property: Annotated[Text, Field(description="What a judge must find true.")]


class EvalRubric(_Part):
    """A sentence that a judge finds true or not."""

    rubric_id: str = ""
    rubric_content: RubricContent
    description: str = ""
    type: str = ""


class FunctionCall(_Part):
    """A tool call; in old files `tool_name` and `tool_input`."""

    lost = {"mock_tool_output": _TOOLS_RUN}

    id: str = ""
    name: Annotated[Text, Field(description="The name of the tool.")]
    args: Args | None = None


class TextPart(_Part):
    """A part of a message; that of a thought is not said."""

    lost = {"inline_data": _NOT_TEXT, "file_data": _NOT_TEXT}

    text: str = ""
    thought: bool = False
    thought_signature: str = ""
    function_call: FunctionCall | None = None
    function_response: object = None


class Content(_Part):
    """A message."""

    parts: list[TextPart] = []
    role: str = ""

    @property
    def text_said(self) -> str:
        """What is said, without thoughts."""
        return "\n".join(part.text for part in self.parts if part.text and not part.thought)


class InvocationEvent(_Part):
    """What an agent did on the way."""

    author: str = ""
    content: Content = Content()


class IntermediateData(_Part):
    """What happens between a message and the reply: calls, or events that have them."""

    lost = {"intermediate_responses": _ON_THE_WAY, "tool_responses": _TOOLS_RUN}

    tool_uses: list[FunctionCall] | None = None
    invocation_events: list[InvocationEvent] = []


class Invocation(_Part):
    """A message and what should come of it; in old files `query` and what belongs to it."""

    lost = {
        "app_details": "The agent is tested as it is on this site. Left out.",
        "expected_intermediate_agent_responses": _ON_THE_WAY,
    }

    invocation_id: str = ""
    creation_timestamp: float = 0
    user_content: Content = Content()
    final_response: Content = Content()
    intermediate_data: IntermediateData = IntermediateData()
    rubrics: list[EvalRubric] = []
    query: str = ""
    reference: str = ""
    expected_tool_use: list[FunctionCall] | None = None


class SessionInput(_Part):
    """What the agent knows at the beginning."""

    lost = {"session_id": "Each conversation is new here. Left out."}

    app_name: str = ""
    user_id: str = ""
    state: Args = {}


class EvalCase(_Part):
    """A conversation; in old files `name`, `data` and `initial_session`."""

    lost = {"final_session_state": _NO_STATE}
    lost_checks = ("final_session_state",)

    eval_id: Annotated[Text, Field(description="The name of the case.")]
    conversation: list[object] = []
    conversation_scenario: object = None
    session_input: SessionInput = SessionInput()
    initial_state: Args = {}
    rubrics: list[EvalRubric] = []
    creation_timestamp: float = 0


class EvalSet(_Part):
    """The whole file."""

    eval_set_id: str = ""
    name: str = ""
    description: str = ""
    creation_timestamp: float = 0
    eval_cases: Annotated[list[object], Field(min_length=1, description="The cases.")]


class EvalConfig(_Part):
    """The file beside it: which metrics decide."""

    lost = {
        "custom_metrics": "Functions of ADK cannot run here. Write a Python function that your administrator "
        "permits, and use the check `code`.",
        "user_simulator_config": "Models that play users are set in each case here. Left out.",
    }
    lost_checks = ("custom_metrics",)

    criteria: dict[str, object] = {}


class Criterion(_Part):
    """A metric with its options."""

    lost = {"judge_model_options": _JUDGE}

    threshold: float = 1.0
    match_type: Literal["EXACT", "IN_ORDER", "ANY_ORDER", 0, 1, 2] = "EXACT"
    ignore_args: bool = False
    rubrics: list[EvalRubric] = []
