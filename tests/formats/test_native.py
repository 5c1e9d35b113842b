from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from evals_app.engine.basics.permits import OUR_COMMAND
from evals_app.formats.foreign.draft import MODELS, Kind, unchecked_cases
from evals_app.formats.native import file_name, read_native, write_native
from evals_app.formats.reading.yaml_source import read_yaml

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
FULL_TEXT = TEXT.filter(str.strip)
NAME = FULL_TEXT
RUBRIC = TEXT.map(lambda text: f"- Is kind\n{text}")
SLUG = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)
NUMBER = st.floats(0, 1) | st.integers(0, 1)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)


def mapping(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def spoken_in_turn(texts: list[str]) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


COMMON = {
    "name": NAME,
    "weight": st.floats(0, 100),
    "threshold": NUMBER,
    "enabled": st.booleans(),
    "fail_on_error": st.booleans(),
}
JUDGE = st.sampled_from(["agent", "anthropic/claude-haiku-5-5", "claude-haiku-5-5"]) | st.just(
    {"provider": "anthropic", "name": "claude", "temperature": 0.5, "max_tokens": 12}
)
ASSERTION = st.one_of(
    mapping(
        {"type": st.sampled_from(["contains", "not_contains"]), "value": FULL_TEXT},
        case_sensitive=st.booleans(),
        scope=st.sampled_from(["turn", "conversation"]),
        **COMMON,
    ),
    mapping(
        {"type": st.sampled_from(["matches", "regex"]), "value": st.just(r"order #\d+")}, **COMMON
    ),
    mapping(
        {"type": st.just("tool_called"), "value": NAME},
        args=st.dictionaries(TEXT, st.integers() | TEXT, max_size=2),
        min_count=st.integers(1, 3),
        **COMMON,
    ),
    mapping(
        {"type": st.sampled_from(["llm_judge", "llm-rubric"]), "criteria": FULL_TEXT},
        model=JUDGE,
        scale=st.sampled_from(["pass_fail", "1-5", "0-1"]),
        votes=st.sampled_from([1, 3, 5]),
        **COMMON,
    ),
    mapping(
        {"type": st.just("rubric"), "criteria": RUBRIC},
        jury=st.just(["claude-haiku-5-5", "openai/gpt-6", "scripted/strict"]),
        **COMMON,
    ),
)
ASSERTIONS = st.lists(ASSERTION, max_size=3)
COUNT = st.integers(0, 2_147_483_647)
USD = st.decimals(0, 1000, places=9).map(float) | st.integers(0, 1000)
LIMITS = mapping({}, max_prompt_tokens=COUNT, max_time_ms=COUNT, max_cost_usd=USD)
TURN = mapping({"user": FULL_TEXT}, expected=TEXT, assertions=ASSERTIONS) | mapping(
    {"user": FULL_TEXT, "assertions": st.lists(ASSERTION, min_size=1)}, inherit=st.booleans()
)
CASE = mapping(
    {"turns": st.lists(TURN, min_size=1, max_size=3)},
    name=NAME,
    description=TEXT,
    tags=st.lists(NAME, max_size=2),
    channel=NAME,
    context_params=st.dictionaries(
        TEXT, TEXT | st.integers() | st.booleans() | st.none(), max_size=2
    ),
    clock=st.just("2026-05-01T09:30:00+00:00"),
    limits=LIMITS,
    turn_timeout_s=st.integers(1, 100) | st.floats(0.5, 100),
    enabled=st.booleans(),
    streaming=st.booleans(),
    trials=st.integers(1, 9),
    history=st.lists(FULL_TEXT, max_size=3).map(spoken_in_turn),
    final_assertions=ASSERTIONS,
)
SUITE = mapping(
    {
        "suite": NAME,
        "slug": SLUG,
        "agent": SLUG,
        "cases": st.lists(CASE, max_size=3, unique_by=lambda case: case.get("name", id(case))),
    },
    description=TEXT,
    tags=st.lists(NAME, max_size=2),
    fixtures=st.lists(SLUG, max_size=2) | SLUG,
    trials=st.integers(1, 9),
    pass_rule=st.sampled_from(["all", "score"]),
    pass_threshold=NUMBER,
    score_scale=st.sampled_from(["0-1", "1-5"]),
    judge_model=JUDGE,
    judge_prompt=TEXT,
    rubric=st.just("") | RUBRIC,
    rubric_weight=NUMBER,
    assertions=ASSERTIONS,
    gates=mapping({}, min_score=NUMBER, max_p95_ms=st.integers(0, 10**6), max_cost_usd=USD),
)
RULE = mapping(
    {"reply": TEXT},
    when=st.just("refund"),
    turn=st.integers(1, 5),
    calls=st.lists(mapping({"tool": st.just("entity.query")}, args=OBJECT), max_size=2),
    usage=mapping({"input_tokens": COUNT, "output_tokens": COUNT}),
)
CANNED = mapping(
    {
        "name": st.just("orders.find"),
        "rules": st.lists(
            mapping({"result": TEXT | st.integers() | OBJECT}, when=st.just({"a": {"regex": "b"}}))
            | mapping({"error": TEXT}),
            min_size=1,
            max_size=2,
        ),
    },
    description=TEXT,
    parameters=st.just({"type": "object", "properties": {"a": {"type": "string"}}}),
    retrieval=st.just("data.chunks"),
)
ASKING = mapping(
    {"name": st.just("weather"), "url": st.just("https://a.example/{{agentName}}")},
    method=st.sampled_from(["GET", "POST"]),
    headers=st.just({"X-Tenant": "acme", "Authorization": {"env": "AGENT_KEY"}}),
)
OWN_TOOLS = st.tuples(CANNED, ASKING).map(list)
OUTSIDE = st.one_of(
    mapping(
        {"driver": st.just("http"), "url": st.just("https://a.example/chat")},
        headers=st.just({"X-Tenant": "no", "X-Key": {"env": "AGENT_KEY"}}),
        request=st.just({"a": ["{{input}}", None, 1.5, "\\\\{{b}}"]}),
        response=st.just({"text": "data[0]['a b']", "tool_calls": "$", "name": "tool"}),
        stream=st.just({"format": "sse", "text_events": ["no", "token"]}),
        pace=st.just({"max_concurrency": 1, "requests_per_minute": 60}),
        oauth=st.just(
            {
                "token_url": "https://a.example/token",
                "client_id": "1",
                "client_secret": {"env": "AGENT_SECRET"},
            }
        ),
    ),
    mapping(
        {
            "driver": st.just("http"),
            "url": st.just("https://a.example/v1"),
            "protocol": st.just("openai-chat"),
        },
        remote_model=NAME,
        system_prompt=TEXT,
    ),
    mapping({"driver": st.just("command"), "command": st.just(OUR_COMMAND.split())}),
)
AGENT = mapping(
    {
        "agent": NAME,
        "slug": SLUG,
        "driver": st.just("scripted"),
        "tools": OWN_TOOLS.map(lambda own: ["entity.query", *own]),
        "rules": st.lists(RULE, min_size=1, max_size=3),
    },
    description=TEXT,
    settings=mapping({}, max_tool_rounds=st.integers(1, 200), provider_patience_s=st.floats(1, 9)),
)
PROVIDER = mapping(
    {"provider": NAME, "slug": SLUG, "kind": st.just("anthropic")},
    base_url=st.just("https://api.anthropic.com/v2"),
    max_concurrency=st.integers(1, 9),
    requests_per_minute=st.integers(1, 9),
    prices=st.lists(
        mapping(
            {
                "model": st.sampled_from(["claude-haiku-5-5", "claude-*"]),
                "valid_from": st.dates().map(str),
                "input_usd": USD,
                "output_usd": USD,
            },
            is_batch=st.booleans(),
            cache_read_usd=USD,
        ),
        max_size=4,
        unique_by=lambda price: (price["model"], price["valid_from"], price.get("is_batch", False)),
    ),
)
ENTITY_DATA = OBJECT
FIXTURE = mapping(
    {
        "name": NAME,
        "slug": SLUG,
        "entities": st.lists(
            mapping({"ref": NAME, "type": st.just("thing"), "data": ENTITY_DATA}, status=NAME),
            max_size=3,
            unique_by=lambda entity: entity["ref"],
        ),
        "entity_types": st.just([{"slug": "thing", "schema": {"type": "object"}}]),
    },
    description=TEXT,
    chunks=st.lists(
        mapping({"id": NAME, "text": FULL_TEXT}, source=TEXT, metadata=OBJECT),
        max_size=2,
        unique_by=lambda chunk: chunk["id"],
    ),
)


def reread(written: bytes, kind: Kind) -> Any:
    draft = read_native(read_yaml(f"x.{kind}.yaml", written), kind)
    assert [problem for problem in draft.problems if problem.level == "error"] == []
    return draft.spec


def assert_round_trip(spec: BaseModel, kind: Kind) -> None:
    written = write_native(spec)
    again = reread(written, kind)
    assert again == spec
    assert write_native(again) == written


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("suite", SUITE),
        ("agent", AGENT),
        ("agent", OUTSIDE.map(lambda data: {"agent": "A", "slug": "a"} | data)),
        ("fixture", FIXTURE),
        ("provider", PROVIDER),
    ],
)
@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_whatever_a_file_says_survives_export_and_import(
    kind: Kind, written: st.SearchStrategy[dict[str, Any]], data: st.DataObject
) -> None:
    assert_round_trip(MODELS[kind].model_validate(data.draw(written)), kind)


SMALL_SUITE = """\
suite: Refunds
slug: refunds
agent: support
tags:
  - money
cases:
  - name: Asks first
    turns:
      - user: |
          I want my money back.
          Now!
        assertions:
          - type: contains
            name: Asks
            value: "no"
            weight: 2
          - type: tool_called
            value: entity.query
            args:
              amount: 2.0
    final_assertions:
      - type: llm_judge
        criteria: Polite
        scale: 1-5
        anchors:
          "5": Warm
          "1": Rude
"""


HEAD = "suite: A\nslug: a\nagent: b\n"
MODEL = "model: anthropic/claude-haiku-5-5\n"
NAMED = f"{HEAD}cases:\n  - name: row-0001\n    turns:\n      - user: hi\n"
UNSCORED = f"{NAMED}      - user: x\n        assertions: []\n"


@pytest.mark.parametrize(
    ("kind", "content", "written"),
    [
        pytest.param("suite", SMALL_SUITE, SMALL_SUITE, id="a tidy file, byte for byte"),
        pytest.param("suite", UNSCORED, UNSCORED, id="no checks, and an empty list of them"),
        ("suite", "cases: []\nagent: b\nslug: a\nsuite: A\n", f"{HEAD}cases: []\n"),
        ("suite", f"{HEAD}cases: [{{turns: [{{user: hi}}]}}]\n", NAMED),
        ("agent", f"agent: A\nslug: a\n{MODEL}", f"agent: A\nslug: a\ndriver: model\n{MODEL}"),
    ],
)
def test_export_writes_as_a_person_would(kind: Kind, content: str, written: str) -> None:
    assert write_native(reread(content.encode(), kind)).decode() == written


def test_variables_of_another_system_stay_text_and_are_lost() -> None:
    content = (
        "agent: A\nslug: a\ndriver: model\nmodel: openai/m\n"
        'system_prompt: \'For {{organizationName}} at {{currentTime}}: {{find({"type":"x"})}}\'\n'
    )

    draft = read_native(read_yaml("a.agent.yaml", content.encode()), "agent")

    assert draft.spec.system_prompt == (
        r"For \{{organizationName}} at {{currentTime}}: "
        r'\{{find({"type":"x"})}}'
    )
    assert [(problem.level, problem.keys) for problem in draft.problems] == [
        ("loss", "system_prompt"),
        ("loss", "system_prompt"),
    ]
    assert all("the agent receives" in problem.message for problem in draft.problems)


def test_a_file_is_named_after_slug_and_kind() -> None:
    assert file_name(reread(SMALL_SUITE.encode(), "suite")) == "refunds.suite.yaml"


def warnings_of(content: str, kind: Kind = "suite") -> list[str]:
    draft = read_native(read_yaml("x.yaml", content.encode()), kind)
    assert {problem.level for problem in draft.problems} <= {"warning"}
    problems = (*draft.problems, *unchecked_cases(draft))
    return [f"{problem.line}: {problem.message}" for problem in problems]


def suite_with(case: str) -> str:
    return f"suite: A\nslug: a\nagent: b\ncases:\n  - name: c\n{case}"


CONTAINS = "    turns: [{user: hi, assertions: [{type: contains, value: refund}]}]\n"


@pytest.mark.parametrize(
    ("case", "line", "word"),
    [
        pytest.param("    turns: [{user: hi}]\n", 5, "checks nothing", id="nothing asserted"),
        pytest.param(
            "    turns: [{user: hi, assertions: [{type: contains, value: refund, weight: 0}]}]\n",
            5,
            "only inform",
            id="only a weight of 0",
        ),
        (f"    turn_timeout_s: 1500\n{CONTAINS[:-2]}, {{user: more}}]\n", 6, "3000 s"),
        pytest.param(
            "    turns:\n      - user: hi\n        assertions:\n"
            "          - type: matches\n            value: '\\\\d'\n",
            10,
            "pattern",
            id="doubled backslash",
        ),
        pytest.param(
            "    turns:\n      - user: hi\n        assertions:\n          - type: tool_called\n"
            "            value: find\n            args: {id: {regexp: x}}\n",
            11,
            "'regexp'",
            id="a matcher that is none",
        ),
        (f"    context_params: {{country: no}}\n{CONTAINS}", 6, "false"),
        (f"    history: [{{role: user, content: 'I am {{{{ name }}}}'}}]\n{CONTAINS}", 6, "name"),
        (CONTAINS.replace("hi", "'Translate into {{language}}'"), 6, "{{language}}"),
        pytest.param(f"    trials: 010\n{CONTAINS}", 6, "010", id="octal"),
        (f"    description: refund for order #123\n{CONTAINS}", 6, '"refund'),
        pytest.param(
            "    turns:\n      - user: hi\n        expected: many\n"
            "        assertions: [{type: numeric}]\n",
            8,
            "numeric",
            id="expected text that is no number",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(case: str, line: int, word: str) -> None:
    (warning,) = warnings_of(suite_with(case))

    assert warning.startswith(f"{line}: ")
    assert word in warning


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(CONTAINS, id="a check"),
        pytest.param("    turns: [{user: hi}]\n    limits: {max_tool_calls: 1}\n", id="a limit"),
        pytest.param(f"    streaming: yes\n{CONTAINS}", id="yes where true is meant"),
        pytest.param(f'    context_params: {{country: "no"}}\n{CONTAINS}', id="quoted no"),
        pytest.param(f"    turn_timeout_s: 1500\n{CONTAINS}", id="one long turn"),
    ],
)
def test_what_is_meant_is_not_warned_of(case: str) -> None:
    assert warnings_of(suite_with(case)) == []


def judged_by(*scales: str) -> str:
    checks = ", ".join(
        f"{{type: llm_judge, criteria: Is kind, scale: {scale}}}" for scale in scales
    )
    return suite_with(f"    turns: [{{user: hi, assertions: [{checks}]}}]\n")


@pytest.mark.parametrize(
    ("scales", "count"),
    [
        pytest.param(["pass_fail", "0-1"], 0, id="no such scale"),
        pytest.param(["pass_fail", "1-5"], 1, id="one"),
        pytest.param(["1-5", "1-5"], 1, id="two are said at once"),
        pytest.param(['1-5, anchors: {"5": Warm}'], 0, id="someone explains them"),
    ],
)
def test_grades_that_no_one_explains_are_warned_of(scales: list[str], count: int) -> None:
    warnings = warnings_of(judged_by(*scales))

    assert ["anchors" in warning for warning in warnings] == [True] * count


def test_an_unquoted_word_in_data_is_warned_of() -> None:
    content = (
        "name: A\nslug: a\nentity_types: [{slug: t, schema: {}}]\n"
        "entities: [{ref: r, type: t, data: {country: no}}]\n"
    )

    assert warnings_of(content, "fixture")[0].startswith("4: YAML reads the unquoted no")


def test_a_rule_with_a_broken_pattern_is_an_error() -> None:
    content = b"agent: A\nslug: a\ndriver: scripted\nrules:\n  - {when: 'a(', reply: x}\n"

    problem = read_native(read_yaml("a.agent.yaml", content), "agent").problems[0]

    assert (problem.level, problem.line, problem.keys) == ("error", 5, "rules[0].when")


@pytest.mark.parametrize(
    ("second", "keys"),
    [
        pytest.param("    turns: []\n", ["cases[1].turns", "cases[1].name"], id="with others"),
        pytest.param(CONTAINS, ["cases[1].name"], id="alone"),
    ],
)
def test_equal_case_names_are_reported_once(second: str, keys: list[str]) -> None:
    content = f"{suite_with(CONTAINS)}  - name: c\n{second}"

    problems = read_native(read_yaml("x.yaml", content.encode()), "suite").problems

    assert [problem.keys for problem in problems] == keys


def test_a_number_as_json_writes_it_is_a_number_and_stays_one() -> None:
    tolerance = "1e-09"
    written = (
        '{"suite": "A", "slug": "a", "agent": "x", "cases": [{"name": "One", "turns": [{"user": "?",'
        f' "assertions": [{{"type": "numeric", "value": 5, "absolute_tolerance": {tolerance}}}]}}]}}]}}'
    )

    spec = reread(written.encode(), "suite")
    grader: Any = spec.cases[0].turns[0].assertions[0].grader

    assert grader.absolute_tolerance == 1e-9
    assert_round_trip(spec, "suite")
