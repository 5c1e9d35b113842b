"""The shape of promptfoo's files, as its documentation describes it.

Source: https://www.promptfoo.dev/docs/configuration/reference/
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

_OF_COMMAND = "This is an option of promptfoo's command, not part of the evals."
_OF_RUN = "Choose the cases when you run the suite: run_evals --case, --tag."
_NO_CODE = "Code does not run on import."
_NO_PROGRAM = "Write its output into the file. Programs do not run on import."


class PromptfooPart(Foreign):
    """A part of a file; promptfoo overlooks keys that it does not know."""

    overlooks: ClassVar[bool] = True


class EvaluateOptions(PromptfooPart):
    """How an evaluation runs."""

    repeat: Annotated[int | None, Field(ge=1, le=100)] = None
    max_concurrency: Annotated[int | None, Field(alias="maxConcurrency", ge=1)] = None
    timeout_ms: Annotated[float | None, Field(alias="timeoutMs", ge=0)] = None

    lost = {
        "cache": "Replies are never cached here.",
        "delay": "Set requests_per_minute on the provider instead.",
        "generateSuggestions": _OF_COMMAND,
        "maxEvalTimeMs": "Set it when you run the suite: run_evals --timeout.",
        "showProgressBar": _OF_COMMAND,
    }


class CommandLineOptions(PromptfooPart):
    """What the command would be called with."""

    lost = {
        **dict.fromkeys(("cache", "config", "description", "envPath", "generateSuggestions"), _OF_COMMAND),
        **dict.fromkeys(("output", "progressBar", "share", "table", "tableCellMaxLength"), _OF_COMMAND),
        **dict.fromkeys(("verbose", "watch", "write"), _OF_COMMAND),
        **dict.fromkeys(
            ("filterErrorsOnly", "filterFailing", "filterFirstN", "filterMetadata", "filterPattern"),
            _OF_RUN,
        ),
        **dict.fromkeys(("filterProviders", "filterSample", "filterTargets"), _OF_RUN),
        **dict.fromkeys(("prompts", "providers", "tests"), "Write it into the configuration."),
        **dict.fromkeys(("assertions", "var", "vars"), "Write it into defaultTest."),
        **dict.fromkeys(("maxConcurrency", "repeat"), "Write it into evaluateOptions."),
        **dict.fromkeys(("promptPrefix", "promptSuffix"), "Write it into the prompts."),
        "delay": "Set requests_per_minute on the provider instead.",
        "grader": "Write it into defaultTest, as options.provider.",
        "modelOutputs": "Make a scripted agent that gives this reply.",
    }  # fmt: skip


class Config(PromptfooPart):
    """A configuration file."""

    description: str | None = None
    tags: dict[str, object] = Field(default_factory=dict)
    prompts: object = None
    providers: object = None
    targets: object = None
    tests: object = None
    default_test: Annotated[object, Field(alias="defaultTest")] = None
    scenarios: object = None
    command_line_options: Annotated[
        CommandLineOptions | None, Field(alias="commandLineOptions")
    ] = None
    evaluate_options: Annotated[EvaluateOptions | None, Field(alias="evaluateOptions")] = None
    assertion_templates: dict[str, object] = Field(alias="assertionTemplates", default_factory=dict)

    lost = {
        "$schema": "It is only for editors.",
        "assertionAliases": _NO_CODE,
        "derivedMetrics": "Calculate them from the results: run_evals --output writes all scores.",
        "env": "Set these variables for the workers. They are not stored here.",
        "extensions": _NO_CODE + " Put the data that a case needs into test data.",
        "metadata": _OF_COMMAND,
        "nunjucksFilters": _NO_CODE,
        "outputPath": _OF_COMMAND,
        "redteam": "Attacks are not generated here. Finished attacks can be imported as tests.",
        "sharing": _OF_COMMAND,
        "tracing": "Every conversation is traced here.",
        "version": _OF_COMMAND,
        "writeLatestResults": _OF_COMMAND,
    }
    lost_checks = ("redteam",)


class Prompt(PromptfooPart):
    """A prompt that is more than a text."""

    id: str | None = None
    label: str | None = None
    raw: str | None = None

    lost = {
        "config": "Settings of a model belong to the agent.",
        "display": _OF_COMMAND,
        "function": _NO_PROGRAM,
    }


class ProviderOptions(PromptfooPart):
    """What is tested, or what judges."""

    id: str | None = None
    label: str | None = None
    config: dict[str, object] = Field(default_factory=dict)
    prompts: list[str] | None = None
    transform: object = None

    lost = {
        "delay": "Set requests_per_minute on the provider instead.",
        "env": "Set these variables for the workers. They are not stored here.",
        "inputs": _NO_CODE,
    }


class Options(PromptfooPart):
    """Settings of a test."""

    provider: object = None
    transform: object = None
    postprocess: object = None
    prefix: str | None = None
    suffix: str | None = None
    disable_var_expansion: Annotated[bool, Field(alias="disableVarExpansion")] = False
    disable_conversation_var: Annotated[bool, Field(alias="disableConversationVar")] = False
    disable_default_asserts: Annotated[bool, Field(alias="disableDefaultAsserts")] = False

    lost = {
        "factuality": "A judge returns pass or fail here.",
        "repeat": "Set trials on the case instead.",
        "response_format": "Settings of a model belong to the agent.",
        "rubricPrompt": "Write what the judge should look at into the suite's judge_prompt.",
        "runSerially": "Set concurrency 1 on the suite instead.",
        "storeOutputAs": (
            "Write a conversation as one case with several turns. The agent remembers them."
        ),
        "transformVars": _NO_PROGRAM,
    }


class Test(PromptfooPart):
    """A test, or what several have in common."""

    description: str | None = None
    vars: object = None
    assertions: list[Any] = Field(alias="assert", default_factory=list)
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    options: Options = Options()
    metadata: dict[str, object] = Field(default_factory=dict)
    prompts: list[str] | None = None
    providers: list[str] | None = None
    provider: object = None

    lost = {
        "assertScoringFunction": _NO_CODE + " The score is the weighted mean of all checks.",
        "providerOutput": "Make a scripted agent that gives this reply.",
        "rubricPrompt": "Write what the judge should look at into the suite's judge_prompt.",
    }
    lost_checks = ("assertScoringFunction",)


class Scenario(PromptfooPart):
    """Data, and the tests that run on each of them."""

    description: str | None = None
    config: list[object]
    tests: list[object] = Field(default_factory=list)


class Assertion(PromptfooPart):
    """An assertion, a set of them, or a reference to one."""

    type: str | None = None
    value: Any = None
    threshold: float | None = None
    weight: Annotated[float | None, Field(ge=0)] = None
    metric: str | None = None
    metric_only: Annotated[bool, Field(alias="metricOnly")] = False
    provider: object = None
    transform: object = None
    context_transform: Annotated[object, Field(alias="contextTransform")] = None
    assertions: Annotated[list[Any] | None, Field(alias="assert")] = None
    reference: Annotated[str | None, Field(alias="$ref")] = None

    lost = {
        "config": "It is for code, which does not run on import.",
        "description": "Use the metric of the check as its name.",
        "fallback": "A check cannot replace another: this one must pass, and the next one too.",
        "normalizeUnicode": "Texts are always normalized (NFC) before they are compared.",
        "options": "A judge returns pass or fail here.",
        "rubricPrompt": "Write what the judge should look at into the suite's judge_prompt.",
    }
