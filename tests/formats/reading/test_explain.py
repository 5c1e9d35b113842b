from typing import Any

import pytest

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.native import read_native
from evals_app.formats.reading.explain import allows, annotation_at
from evals_app.formats.reading.problems import Loc
from evals_app.formats.reading.yaml_source import read_yaml

CASE = "  - name: c\n    turns: [{user: hi}]\n"
SUITE = f"suite: A\nslug: a\nagent: b\ncases:\n{CASE}"


def errors_in(content: str) -> list[str]:
    draft = read_native(read_yaml("x.suite.yaml", content.encode()), "suite")
    return [
        f"{problem.line}:{problem.column} {problem.keys}: {problem.message}"
        for problem in draft.problems
        if problem.level == "error"
    ]


def only_error_in(content: str) -> str:
    errors = errors_in(content)
    assert len(errors) == 1, errors
    return errors[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("suite: 12", '"12"', id="number"),
        pytest.param("suite: 012", '"012"', id="octal"),
        pytest.param("suite: [a]", "a list", id="list"),
        pytest.param("suite:", "nothing", id="nothing"),
        pytest.param('suite: ""', "empty", id="empty"),
        pytest.param(f"suite: {'x' * 201}", "200", id="too long"),
        pytest.param("slug: Refund Flow", "lower-case", id="slug"),
        pytest.param('trials: "3"', "number", id="quoted number"),
        pytest.param("trials: 1.5", "number", id="fraction"),
        pytest.param("trials: many", "number", id="word for a number"),
        pytest.param("trials: 0", "greater", id="too small"),
        pytest.param("tags: money", "a dash", id="one tag"),
        pytest.param("pass_rule: al", "'all'", id="unknown choice"),
        pytest.param("pass_rule: 1", "all, score", id="choice that is no text"),
        pytest.param("gates: {min_scor: 1}", "'min_score'", id="nested key"),
        pytest.param("gates: []", "a list", id="list for keys"),
        pytest.param("judge_model: gpt", "provider/model", id="model name"),
        pytest.param("judge_model: {provider: x}", "`name`", id="half a model"),
        pytest.param("judgeModel: agent", "'judge_model'", id="camelCase"),
        pytest.param("rubric: [Polite]", "a list", id="bullets as a list"),
        pytest.param('gates: {max_cost_usd: "1"}', "number", id="money in quotes"),
        pytest.param("gates: {max_cost_usd: 0.0000000001}", "decimal", id="money too fine"),
        pytest.param("colour: red", "`colour`", id="unknown"),
    ],
)
def test_an_error_of_the_suite_is_explained_once(line: str, message: str) -> None:
    key = line.partition(":")[0]
    rest = "".join(
        item for item in SUITE.splitlines(keepends=True) if not item.startswith(f"{key}:")
    )

    error = only_error_in(f"{line}\n{rest}")

    assert error.startswith("1:")
    assert message in error


@pytest.mark.parametrize(
    ("assertion", "place", "message"),
    [
        pytest.param("{type: contains, value: 1}", "value", '"1"', id="number for text"),
        pytest.param("{type: contains, value: no}", "value", "YAML", id="no"),
        pytest.param("{type: contains, value: x, weight: -1}", "weight", "equal", id="weight"),
        pytest.param("{type: contains, vaule: x}", "vaule", "'value'", id="option"),
        pytest.param("{type: contians}", "type", "'contains'", id="type"),
        pytest.param("{value: x}", "", "check", id="no type"),
        pytest.param("{type: llm_judge}", "criteria", "`criteria`", id="missing option"),
        pytest.param("{type: llm_judge, criteria: x, scale: 1-6}", "scale", "'1-5'", id="choice"),
        ("{type: tool_calls, tools: [{name: x, arg: 1}]}", "tools[0].arg", "'args'"),
        pytest.param("{type: contains}", "", "needs", id="nothing expected"),
        pytest.param("{type: matches, value: '(?=x)'}", "value", "Lookahead", id="pattern"),
        pytest.param("{type: contains, value: x, model: agent}", "model", "judge", id="misfit"),
        pytest.param("contains", "", "found text", id="text"),
    ],
)
def test_an_error_of_an_assertion_is_explained_once(
    assertion: str, place: str, message: str
) -> None:
    content = f"{SUITE}    final_assertions:\n      - {assertion}\n"

    error = only_error_in(content)

    keys = "cases[0].final_assertions[0]" + (f".{place}" if place else "")
    assert error.startswith("8:")
    assert f" {keys}: " in error
    assert message in error


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(
            f"{SUITE}    context_params: {{x: [1]}}\n",
            "7:25 cases[0].context_params.x: Expected text, a number or true or false, found a list.",
            id="a union is one error",
        ),
        pytest.param(
            SUITE.replace("{user: hi}", "{}"),
            "6:13 cases[0].turns[0].user: The key `user` is missing: ",
            id="a missing key where it should be",
        ),
        (SUITE.replace("suite: A\n", ""), "1:1 suite: The key `suite` is missing: "),
    ],
)
def test_an_error_is_placed_and_described(content: str, error: str) -> None:
    assert only_error_in(content).startswith(error)


@pytest.mark.parametrize(
    ("model", "data", "loc", "kind", "expected"),
    [
        pytest.param(SuiteSpec, {}, ("trials",), int, True, id="number"),
        pytest.param(SuiteSpec, {}, ("trials",), str, False, id="number is no text"),
        pytest.param(SuiteSpec, {}, ("judge_prompt",), str, True, id="text"),
        pytest.param(SuiteSpec, {}, ("slug",), str, True, id="annotated text"),
        pytest.param(SuiteSpec, {}, ("gates", "min_score"), float, True, id="number or nothing"),
        pytest.param(
            SuiteSpec,
            {"assertions": [{"type": "contains"}]},
            ("assertions", 0, "case_sensitive"),
            bool,
            True,
            id="option of a grader",
        ),
        pytest.param(
            SuiteSpec,
            {"assertions": [{"type": "regex"}]},
            ("assertions", 0, "case_sensitive"),
            bool,
            True,
            id="option of a grader under its other name",
        ),
        pytest.param(
            SuiteSpec,
            {"assertions": [{"type": "contains"}]},
            ("assertions", 0, "weight"),
            float,
            True,
            id="common key",
        ),
    ],
)
def test_the_declared_type_of_a_place_is_known(
    model: type[SuiteSpec], data: dict[str, Any], loc: Loc, kind: type, *, expected: bool
) -> None:
    assert allows(annotation_at(model, loc, data), kind) is expected


def test_free_data_allows_anything() -> None:
    data = {"rules": [{"calls": [{"args": {"x": 1}}]}]}

    assert annotation_at(AgentSpec, ("rules", 0, "calls", 0, "args", "x"), data) is Any


@pytest.mark.parametrize(
    ("tool", "beginning"),
    [
        pytest.param(
            "{name: a, url: https://a.org/, methd: GET}",
            "5:38 tools[0].methd: Unknown key `methd`. Did you mean 'method'?",
            id="of a tool that asks",
        ),
        ("{name: a, rulez: []}", "5:17 tools[0].rulez: Unknown key `rulez`. Did you mean 'rules'?"),
        pytest.param(
            "{name: a, url: https://a.org/, headers: {X-A: {envv: AGENT_A}}}",
            "5:54 tools[0].headers.X-A.envv: Unknown key `envv`. Did you mean 'env'?",
            id="of a header",
        ),
        pytest.param("5", "5:7 tools[0]: Expected text", id="none"),
    ],
)
def test_of_several_shapes_that_is_meant_which_most_keys_belong_to(
    tool: str, beginning: str
) -> None:
    content = f"agent: A\nslug: a\nmodel: anthropic/claude-haiku-5-5\ntools:\n    - {tool}\n"
    draft = read_native(read_yaml("x.agent.yaml", content.encode()), "agent")

    problems = [
        f"{problem.line}:{problem.column} {problem.keys}: {problem.message}"
        for problem in draft.problems
    ]

    assert any(item.startswith(beginning) for item in problems), problems
