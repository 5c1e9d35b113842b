"""The shapes of waza's files, as their JSON Schemas describe them."""

from typing import Annotated, Any

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

_SKILL = "The agent that you choose when you import is tested, with the skills that it has."
_WORKSPACE = "Agents have no workspace here. Attach files, or use test data."
_FOR_PEOPLE = "Only for people. Left out."
_RUN = "Set it on the suite, or when you run it."

Text = Annotated[str, Field(min_length=1)]


class WazaConfig(Foreign):
    """How tasks run."""

    overlooks = True
    lost = {
        **dict.fromkeys(("executor", "model", "reasoning_effort", "skill_directories"), _SKILL),
        **dict.fromkeys(("disabled_skills", "required_skills", "mcp_servers"), _SKILL),
        **dict.fromkeys(("parallel", "workers", "fail_fast", "max_attempts", "group_by"), _RUN),
        "judge_model": "Choose the judge of the suite or the site.",
    }

    trials_per_task: Annotated[int, Field(ge=1, le=100)] = 1
    timeout_seconds: Annotated[float, Field(gt=0, le=1500)] = 300


class WazaEval(Foreign):
    """The whole file."""

    overlooks = True
    lost = {
        **dict.fromkeys(("schemaVersion", "version", "baseline"), _FOR_PEOPLE),
        **dict.fromkeys(("hooks", "mcp_mocks", "command_mocks"), _WORKSPACE),
        "inputs": "Write these values into the prompts.",
        "metrics": "Set gates of the suite instead, for example a pass rate.",
        "range": "Choose the cases when you run the suite: run_evals --case.",
        "tasks_from": "Import this table of tasks by itself.",
    }
    lost_checks = ("tasks_from",)

    name: Text
    description: str = ""
    skill: Text | None = None
    scenario: Text | None = None
    config: WazaConfig = WazaConfig()
    graders: list[object] = Field(default_factory=list)
    tasks: list[Text] = Field(default_factory=list)


class WazaInputs(Foreign):
    """What a task asks."""

    overlooks = True
    lost = {
        **dict.fromkeys(("repos", "workdir", "environment", "context"), _WORKSPACE),
        "responder": "Write what the user says as follow_up_prompts, or let a model play the user in the case editor.",
    }

    prompt: Text | None = None
    prompt_file: Text | None = None
    follow_up_prompts: list[Text] = Field(default_factory=list)
    files: list[Any] = Field(default_factory=list)


class WazaExpected(Foreign):
    """What is expected."""

    overlooks = True
    lost = {
        "outcomes": "Write them as criteria of a prompt grader.",
        "should_trigger": "Whether a skill is used is not checked here. Check a tool call instead.",
        "tool_calls": "Write required_tools and forbidden_tools under behavior.",
    }
    lost_checks = ("outcomes", "should_trigger", "tool_calls")

    output_contains: list[Text] = Field(default_factory=list)
    output_not_contains: list[Text] = Field(default_factory=list)
    behavior: dict[str, object] = Field(default_factory=dict)


class WazaTask(Foreign):
    """A task: one file."""

    overlooks = True
    lost = {
        **dict.fromkeys(("context_dir", "skill_directories", "instruction_files"), _WORKSPACE),
        "golden": "Give it a tag, and run the suite with it.",
    }

    id: Text
    name: Text
    description: str = ""
    enabled: bool = True
    tags: list[Text] = Field(default_factory=list)
    timeout_seconds: Annotated[float | None, Field(gt=0, le=1500)] = None
    inputs: WazaInputs
    expected: WazaExpected = WazaExpected()
    graders: list[object] = Field(default_factory=list)


class WazaGrader(Foreign):
    """A grader."""

    overlooks = True
    lost = {
        "model": "Choose the judge of the suite or the site.",
        "script": "Programs do not run on import.",
    }

    type: str
    name: str = ""
    rubric: str = ""
    weight: Annotated[float, Field(ge=0)] = 1.0
    config: dict[str, Any] = Field(default_factory=dict)
    assertions: list[Any] = Field(default_factory=list)
