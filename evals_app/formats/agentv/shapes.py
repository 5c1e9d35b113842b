"""The shapes of AgentV's files, in the words of all its versions."""

from typing import Annotated, Any

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

_TARGET = "The agent that you choose when you import is tested (--agent)."
_WORKSPACE = "Agents have no workspace here. Attach files, or use test data."
_FOR_PEOPLE = "Only for people. Left out."
_PROGRAM = "Programs do not run on import."


class HowItRuns(Foreign):
    """How a file or a test runs."""

    overlooks = True
    lost = {"target": _TARGET, "targets": _TARGET, "workspace": _WORKSPACE}

    evaluators: list[object] = Field(default_factory=list)
    assert_: Annotated[list[object], Field(alias="assert")] = []
    skip_defaults: bool = False
    trials: object = None
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None


class EvalSuite(Foreign):
    """The whole file."""

    overlooks = True
    lost = {
        **dict.fromkeys(("target", "targets"), _TARGET),
        **dict.fromkeys(("workspace", "input_files"), _WORKSPACE),
        **dict.fromkeys(("author", "license", "requires", "version", "category"), _FOR_PEOPLE),
        **dict.fromkeys(("experiment", "suite"), _FOR_PEOPLE),
        "imports": "Import the files that it names themselves.",
        "preprocessors": _PROGRAM,
        "budget_usd": "Set it when you run the suite: run_evals --max-cost.",
    }
    lost_checks = ("imports",)

    name: str | None = None
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    prompts: object = None
    tests: object = None
    evalcases: object = None
    input: Any = None
    assertions: list[Any] = Field(default_factory=list)
    assert_: Annotated[list[object], Field(alias="assert")] = []
    execution: HowItRuns = HowItRuns()
    repeat: object = None
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    timeout_seconds: Annotated[float | None, Field(gt=0, le=1500)] = None


class EvalTest(Foreign):
    """A test."""

    overlooks = True
    lost = {
        "conversation_id": "Tests are single cases here. Write a conversation as one case.",
        "workspace": _WORKSPACE,
        "input_files": _WORKSPACE,
        "note": _FOR_PEOPLE,
    }

    id: Annotated[str, Field(min_length=1)]
    vars: dict[str, Any] = Field(default_factory=dict)
    criteria: str = ""
    expected_outcome: str = ""
    outcome: str = ""
    input: Any = None
    input_messages: object = None
    expected_output: object = None
    expected_messages: object = None
    rubrics: list[object] = Field(default_factory=list)
    assertions: list[Any] = Field(default_factory=list)
    assert_: Annotated[list[object], Field(alias="assert")] = []
    evaluators: list[object] = Field(default_factory=list)
    execution: HowItRuns = HowItRuns()
    metadata: dict[str, object] = Field(default_factory=dict)


class EvalCheck(Foreign):
    """A grader or an assertion."""

    overlooks = True
    lost = {
        "required": "The score of the case decides here, whatever its single checks say.",
        "min_score": "The score of the case decides here, whatever its single checks say.",
        "target": "The judge of the suite or the site decides.",
        "preprocessors": _PROGRAM,
    }

    type: str
    assertions: object = None  # of a composite, which is lost as a whole
    name: str | None = None
    metric: str | None = None
    value: Any = None
    flags: str = ""
    negate: bool = False
    weight: Annotated[float, Field(ge=0)] = 1.0
    prompt: Any = None
    rubrics: list[object] | None = None
    criteria: object = None
    threshold: float | None = None
    budget: float | None = None
    mode: str = "in_order"
    minimums: dict[str, int] = Field(default_factory=dict)
    expected: list[Any] = Field(default_factory=list)


class RubricEntry(Foreign):
    """One entry of a rubric."""

    overlooks = True
    lost = {
        "required": EvalCheck.lost["required"],
        "min_score": EvalCheck.lost["min_score"],
        "score_ranges": "A judge decides pass or fail here.",
    }

    id: str = ""
    outcome: Annotated[str, Field(min_length=1)]
    operator: str = "correctness"
    weight: Annotated[float, Field(ge=0)] = 1.0
