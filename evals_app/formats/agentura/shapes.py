"""The shapes of Agentura's files."""

import shlex
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from evals_app.engine.specs.base_spec import MAX_INTEGER, Usd
from evals_app.formats.foreign.shapes import Foreign

_OPERATORS = set("();<>|&")


def _share(share: float) -> float:
    if not 0 <= share <= 1:
        percent = " Write 80 percent as 0.8." if share > 1 else ""
        raise ValueError(f"A threshold is a number from 0 to 1.{percent}")
    return share


def _path(path: str) -> str:
    if not path.isprintable():
        raise ValueError(
            "Inside double quotes YAML reads a backslash and the letter after it as one "
            "character. Write / instead, or remove the quotes."
        )
    return path


Text = Annotated[str, Field(min_length=1)]
Share = Annotated[float, AfterValidator(_share)]
Path = Annotated[Text, AfterValidator(_path)]
Milliseconds = Annotated[int, Field(gt=0, le=MAX_INTEGER)]


def _line(command: str) -> str:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        operators = [word for word in lexer if word and set(word) <= _OPERATORS]
    except ValueError:
        raise ValueError("A quote is never closed.") from None
    if operators:
        raise ValueError(
            f"Programs are started without a shell, so {operators[0]} has no effect. Put the "
            "line into a script and name the script."
        )
    return command


def _module(module: str) -> str:
    if ":" not in module:
        raise ValueError(
            "JavaScript modules cannot run here. Write module.path:name of a Python function "
            "that your administrator permits, describe the agent as http or cli, or choose an agent "
            "with --agent."
        )
    return module


class Agent(Foreign):
    """How the agent is called."""

    type: str
    timeout_ms: Annotated[int, Field(gt=0, le=1_500_000)] | None = None


class EndpointAgent(Agent):
    """An agent at an address."""

    endpoint: Annotated[Text, Field(description="Where messages are posted.")]
    # Texts there; {env: NAME}, which keeps a key out of the file, is ours.
    headers: dict[str, object] = Field(default_factory=dict)


class CliAgent(Agent):
    """An agent that is a program."""

    command: Annotated[
        Text, AfterValidator(_line), Field(description="The program and its arguments.")
    ]


class SdkAgent(Agent):
    """An agent that is a function: of JavaScript there, of Python here."""

    module: Annotated[Text, AfterValidator(_module), Field(description="module.path:name.")]


AGENTS: dict[str, type[Agent]] = {"http": EndpointAgent, "cli": CliAgent, "sdk": SdkAgent}

_VOTES = (1, 3, 5)  # odd, so that there is one in the middle
_NO_CONFIDENCE = "An agent's own confidence does not count in any score here. Left out."


class SuiteEntry(Foreign):
    """A suite."""

    overlooks = True
    lost = {"confidence_policy": _NO_CONFIDENCE, "confidence_policy_config": _NO_CONFIDENCE}

    default_threshold: ClassVar[float | None] = 0.8

    type: str
    name: Annotated[Text, Field(description="The name of the suite.")]
    dataset: Annotated[Path, Field(description="Path of the dataset, from this file.")]
    threshold: Share | None = None

    @property
    def least_score(self) -> float | None:
        """The score that cases and suite must reach; None: the score decides nothing."""
        return self.default_threshold if self.threshold is None else self.threshold


class GoldenSuite(SuiteEntry):
    """Replies are compared with what is expected."""

    scorer: Literal["exact_match", "contains", "fuzzy_match", "semantic_similarity"] = "exact_match"


class JudgedSuite(SuiteEntry):
    """A judge scores replies from 0 to 1 by a rubric."""

    rubric: Annotated[Path, Field(description="Path of the rubric, from this file.")]
    judge_model: Text | None = None
    runs: Annotated[int, Field(ge=1)] = 1

    @property
    def votes(self) -> int:
        """How often a judge is asked: at least as often as `runs` says, as far as possible."""
        return next((vote for vote in _VOTES if vote >= self.runs), _VOTES[-1])


class PerformanceSuite(SuiteEntry):
    """Replies come in time and cost little."""

    default_threshold = None

    max_p95_ms: Milliseconds | None = None
    latency_threshold_ms: Milliseconds | None = None  # as it was called before
    max_cost_per_call_usd: Usd | None = None

    @property
    def max_ms(self) -> int | None:
        return self.max_p95_ms or self.latency_threshold_ms

    @model_validator(mode="after")
    def _measures_something(self) -> Self:
        if self.max_p95_ms is not None and self.latency_threshold_ms is not None:
            raise ValueError("latency_threshold_ms is the old name of max_p95_ms. Remove it.")
        if self.max_ms is None and self.max_cost_per_call_usd is None:
            raise ValueError("A performance suite needs max_p95_ms or max_cost_per_call_usd.")
        return self


class ToolUseSuite(SuiteEntry):
    """The right tool is called with the right arguments."""


ENTRIES: dict[str, type[SuiteEntry]] = {
    "golden_dataset": GoldenSuite,
    "llm_judge": JudgedSuite,
    "performance": PerformanceSuite,
    "tool_use": ToolUseSuite,
}


class Ci(Foreign):
    """When a pull request is blocked."""

    overlooks = True
    lost = {
        "compare_to": "A run is compared with the run that is the released version of its suite, not with a "
        "branch. Left out.",
        "post_comment": "Nothing is posted. A run can be downloaded as Markdown. Left out.",
        "fail_on_new_suite": "A suite without a released version passes by its other rules: it has nothing to "
        "be compared with yet. Left out.",
    }

    block_on_regression: bool = False
    regression_threshold: Share = 0.05

    @property
    def max_score_drop(self) -> float | None:
        """How far a score may fall; None means no limit."""
        is_limited = self.block_on_regression and self.regression_threshold < 1
        return self.regression_threshold if is_limited else None


class Config(Foreign):
    """The whole file."""

    overlooks = True
    lost = {
        "defaults": "They only count where an entry includes them (<<: *defaults).",
        "contracts": "There are no contracts here. Write what they require as checks of the "
        "suite, for example json_path or tool_not_called. Left out.",
        "consensus": "Agents do not vote here. Make an agent that asks several models, and "
        "import that. Left out.",
        "drift": "Make a good run the released version of its suite instead: later runs are compared with "
        "its verdicts and scores. How much replies and calls resemble those of that run is not "
        "measured. Left out.",
    }
    lost_checks = ("contracts", "drift")

    version: Literal[1] = 1
    agent: object = None
    ci: object = None
    evals: Annotated[list[object], Field(min_length=1, description="The suites.")]


ENTRY_KEYS = {key for shape in ENTRIES.values() for key in shape.model_fields}
AGENT_KEYS = {key for shape in AGENTS.values() for key in shape.model_fields}


class Row(Foreign):
    """A row of a dataset; what it needs depends on the type of the suite."""

    overlooks = True

    id: Text | None = None
    input: Text | None = None
    context: Text | None = None
    expected: str | None = None
    expected_tool: Text | None = None
    expected_args: dict[str, object] | None = None
    expected_output: str | None = None
    conversation: list[object] | None = None
    eval_turns: list[int] | None = None


class User(Foreign):
    """A message of the user."""

    overlooks = True

    role: Literal["user"]
    content: Annotated[Text, Field(description="What the user says.")]


class Assistant(Foreign):
    """What the agent should say."""

    overlooks = True
    lost = {"content": "The agent writes its own replies, so the text given here is left out."}

    role: Literal["assistant"]
    expected: Annotated[Text, Field(description="What the agent should say.")] | None = None
