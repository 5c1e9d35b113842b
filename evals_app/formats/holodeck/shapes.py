"""The shapes of HoloDeck's files, as its documentation describes them.

Lists marked `Apart` are read row by row, so that an error in one row hides none in another.

Source: the HoloDeck documentation, pages Evaluations, Agent Configuration and LLM Providers.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from evals_app.formats.foreign.shapes import Foreign

Row = TypeVar("Row")


def _only_a_list(written: object, handler: ValidatorFunctionWrapHandler) -> object:
    return written if isinstance(written, list) else handler(written)


def _number(written: object) -> object:
    # HoloDeck takes numbers in quotes too, and 1e-6, which YAML reads as text.
    if not isinstance(written, str):
        return written
    try:
        number = float(written)
    except ValueError:
        return written
    return int(number) if number.is_integer() else number


Apart = Annotated[list[Row], WrapValidator(_only_a_list)]
Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]
Text = Annotated[str, Field(min_length=1)]


def _message(written: str) -> str:
    if not written.strip():
        raise ValueError("There are only spaces here. Write the user's message.")
    return written


Message = Annotated[Text, AfterValidator(_message)]


class Llm(Foreign):
    """A model, wherever one is named: of the agent, of all metrics, of one metric."""

    lost = {"api_version": "Azure is called at its v1 API, which takes no version. Left out."}

    # `scripted` is ours: the name is then the slug of an agent that follows rules.
    provider: Annotated[
        Literal["openai", "azure_openai", "anthropic", "ollama", "scripted"],
        Field(description="Who serves the model."),
    ]
    name: Annotated[Text, Field(description="The model, or the name of its deployment.")]
    temperature: Number | None = None
    max_tokens: Whole | None = None
    top_p: Number | None = None
    endpoint: Text | None = None
    api_key: Text | None = None
    auth_provider: (
        Literal["api_key", "oauth_token", "bedrock", "vertex", "foundry", "custom"] | None
    ) = None


_JUDGED_BY_US = "How judges are asked, repeated and timed out is fixed here. Left out."
_Compared = Literal["equality", "numeric", "f1_score", "bleu", "rouge", "meteor"]
_OnceJudged = Literal["groundedness", "relevance", "coherence", "fluency", "safety"]


class _Metric(Foreign):
    threshold: Number | None = None
    enabled: bool = True
    fail_on_error: bool = False


class StandardMetric(_Metric):
    """A metric that compares the reply with the ground truth, or one of the old ones that judge."""

    lost = {
        "scale": "Scores and thresholds range from 0 to 1 here. Left out.",
        "retry_on_failure": _JUDGED_BY_US,
        "timeout_ms": _JUDGED_BY_US,
        "custom_prompt": "The judge's prompt is fixed here. Write what it should look at into "
        "the criteria of a geval metric. Left out.",
    }

    type: Literal["standard"] = "standard"
    metric: Annotated[Literal[_Compared, _OnceJudged], Field(description="What is measured.")]
    model: Llm | None = None
    case_insensitive: bool | None = None
    strip_whitespace: bool | None = None
    strip_punctuation: bool | None = None
    absolute_tolerance: Number | None = None
    relative_tolerance: Number | None = None
    accept_percent: bool | None = None
    accept_thousands_separators: bool | None = None
    response_path: Text | None = None


class GEvalMetric(_Metric):
    """Custom criteria by which a judge grades."""

    type: Literal["geval"]
    name: Annotated[Text, Field(description="The name that people read.")]
    criteria: Annotated[Text, Field(description="What makes a good answer.")]
    evaluation_steps: list[str] | None = None
    evaluation_params: (
        list[Literal["input", "actual_output", "expected_output", "context", "retrieval_context"]]
        | None
    ) = None
    strict_mode: bool = False
    model: Llm | None = None


class RagMetric(_Metric):
    """A metric of what was retrieved."""

    type: Literal["rag"]
    metric_type: Annotated[
        Literal[
            "faithfulness",
            "answer_relevancy",
            "contextual_relevancy",
            "contextual_precision",
            "contextual_recall",
        ],
        Field(description="What is measured."),
    ]
    include_reason: bool = True
    model: Llm | None = None


class CodeMetric(_Metric):
    """A function in Python."""

    lost = {"model": "A function does not ask a model. Left out."}

    type: Literal["code"]
    grader: Annotated[Text, Field(description="module.path:callable")]
    name: Text | None = None


METRICS: dict[str, type[StandardMetric | GEvalMetric | RagMetric | CodeMetric]] = {
    "standard": StandardMetric,
    "geval": GEvalMetric,
    "rag": RagMetric,
    "code": CodeMetric,
}
Metrics = Apart[StandardMetric | GEvalMetric | RagMetric | CodeMetric]


class File(Foreign):
    """A file that is shown to the agent."""

    lost = {
        "description": "A file has no description here. Put it into the message. Left out.",
        "pages": "A file is shown whole. Put the pages into a file of their own. Left out.",
        "sheet": "A file is shown whole, with all of its sheets. Left out.",
        "range": "A file is shown whole. Put the cells into a file of their own. Left out.",
        "cache": "Files are stored with the suite, so nothing is fetched again. Left out.",
    }

    path: Text | None = None
    url: Text | None = None
    type: Literal["image", "pdf", "text", "excel", "word", "powerpoint", "csv"] | None = None


class Tool(Foreign):
    """A call that is expected."""

    name: Annotated[Text, Field(description="Part of the name of the tool.")]
    args: dict[str, Any] | None = None
    count: Annotated[Whole, Field(ge=1)] = 1


class _Expecting(Foreign):
    ground_truth: Text | None = None
    expected_tools: list[Text | Tool] | None = None
    files: list[File] | None = None
    retrieval_context: list[str] | None = None
    evaluations: Metrics | None = None
    turn_config: dict[str, object] | None = None


class Turn(_Expecting):
    """One message, and what is expected."""

    input: Annotated[Message, Field(description="What the user says.")]


class Case(_Expecting):
    """A conversation: of one message, or of several turns."""

    name: Text | None = None
    input: Message | None = None
    turns: Annotated[Apart[Turn], Field(min_length=1)] | None = None


Cases = Apart[Case]


class CaseFile(Foreign):
    """The mapping in a file of cases; what made the file may have left notes next to them."""

    overlooks = True

    test_cases: Annotated[Cases, Field(description="The cases.")]


class Evaluations(Foreign):
    """The metrics for every turn that has none, and the judge."""

    lost = {"optimizer": "Agents are not optimized automatically here. Left out."}

    model: Llm | None = None
    metrics: Metrics | None = None


class Instructions(Foreign):
    """The system prompt, here or in a file."""

    inline: Text | None = None
    file: Text | None = None


_READ_ONCE = "Files are read once, at import, and stored. Left out."
_OF_COMMAND = "Use the options of the command to choose what it prints. Left out."


class ExecutionOptions(Foreign):
    """How tests are run."""

    lost = {
        **dict.fromkeys(("file_timeout", "download_timeout"), _READ_ONCE),
        **dict.fromkeys(("cache_enabled", "cache_dir"), _READ_ONCE),
        **dict.fromkeys(("verbose", "quiet"), _OF_COMMAND),
    }

    llm_timeout: Number | None = None
    parallel_test_cases: Whole | None = None


class AgentFile(Foreign):
    """An agent.yaml."""

    lost = {
        "author": "There is no field for an author. Write it into the description. Left out.",
        "tool_filtering": "An agent has all of its tools in every turn. Left out.",
        "embedding_provider": "It serves tools that search documents, which are left out too.",
        "claude": "These settings are for the Claude Agent SDK, and models are called at their "
        "API here. Left out.",
        "openai": "These settings are for the OpenAI Agents SDK, and models are called at their "
        "API here. Left out.",
        "observability": "Your administrator decides where telemetry goes. Left out.",
        "deployment": "Agents are tested here, not deployed. Left out.",
    }

    name: Text | None = None
    description: str | None = None
    model: Llm | None = None
    instructions: Text | Instructions | None = None
    response_format: object = None
    tools: list[object] | None = None  # none of them runs here
    evaluations: Evaluations | None = None
    test_cases: Cases | None = None
    test_cases_file: Text | None = None
    execution: ExecutionOptions | None = None
