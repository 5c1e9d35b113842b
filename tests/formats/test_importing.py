import tracemalloc
from typing import Any

import pytest

from evals_app.formats import importing
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign import draft
from evals_app.formats.importing import Imported, SourceData, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem
from tests.engine.permitting import permitting

AGENT = "agent: Support\nslug: support\nmodel: anthropic/claude-haiku-5-5\ntools: [entity.query]\n"
SCRIPTED = "agent: Judge\nslug: judge\ndriver: scripted\nrules: [{reply: pass}]\n"
SUITE = """\
suite: Refunds
slug: refunds
agent: support
cases:
  - name: c
    turns:
      - user: hi
        assertions:
          - {type: contains, value: hello}
"""
FIXTURE = """\
name: Shop
slug: shop
entity_types: [{slug: order, schema: {type: object, required: [total]}}]
entities:
  - {ref: first, type: order, data: {total: 3}}
"""
USES_ORDERS = "name: B\nslug: b\nchunks: []\nentities: [{ref: r, type: order, data: {}}]\n"
KNOWN = ExistingObjects(agents={"support": "model"})
EVAL = SUITE.replace(
    "          - {type: contains, value: hello}",
    "          - type: contains\n            value: hello",
)


def read(
    files: dict[str, str], *, dialect: str | None = None, known: ExistingObjects | None = None
) -> Imported:
    sources = [SourceFile(path, text.encode()) for path, text in files.items()]
    return read_files(sources, dialect=dialect, known=known)


def errors(
    files: dict[str, str], *, dialect: str | None = None, known: ExistingObjects | None = None
) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(files, dialect=dialect, known=known)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def test_everything_of_an_import_is_given_with_its_place() -> None:
    provider = "provider: Ours\nslug: ours\nkind: anthropic\n"

    imported = read(
        {
            "a/p.provider.yaml": provider,
            "a/support.agent.yaml": AGENT,
            "a/refunds.suite.yaml": "# first\n" + SUITE + "fixtures: shop\n",
            "a/shop.fixture.yaml": FIXTURE,
        }
    )

    assert [item.spec.slug for item in imported.providers] == ["ours"]
    assert [agent.spec.slug for agent in imported.agents] == ["support"]
    assert [suite.spec.fixtures for suite in imported.suites] == [["shop"]]
    assert [(suite.path, suite.line) for suite in imported.suites] == [("a/refunds.suite.yaml", 2)]
    assert [fixture.spec.slug for fixture in imported.fixtures] == ["shop"]
    assert [(item.spec.slug, item.line) for item in imported.entity_types] == [("order", 3)]
    assert imported.warnings == []


def test_a_suite_knows_the_line_of_each_case() -> None:
    second = "  - name: d\n    turns: [{user: hi, assertions: [{type: contains, value: hello}]}]\n"

    (suite,) = read({"support.agent.yaml": AGENT, "refunds.suite.yaml": SUITE + second}).suites

    assert suite.case_lines == {"c": 5, "d": 10}


def test_cases_of_a_table_are_at_their_rows() -> None:
    table = 'question,contains\nHi,Hello\n"Two\nlines",Hello\nBye,Bye\n'
    source = [SourceFile("greetings.csv", table.encode())]

    (suite,) = read_files(source, known=KNOWN, agent="support").suites

    assert [*suite.case_lines.values()] == [2, 3, 4]


def test_what_a_program_sends_and_cases_of_several_files_have_no_line() -> None:
    one = SUITE.replace("refunds", "other").replace("Refunds", "Other")
    files = [
        SourceFile("a/x.suite.yaml", SUITE.encode()),
        SourceFile("a/y.suite.yaml", one.encode()),
    ]
    sent = SourceData(
        "x.suite.yaml",
        {
            "suite": "R",
            "slug": "r",
            "agent": "support",
            "cases": [
                {
                    "name": "c",
                    "turns": [{"user": "hi", "assertions": [{"type": "contains", "value": "a"}]}],
                }
            ],
        },
    )

    (joined,) = read_files(files, known=KNOWN, as_one_suite=True).suites
    (of_program,) = read_files([sent], known=KNOWN).suites

    assert len(joined.spec.cases) == 2
    assert joined.case_lines == of_program.case_lines == {}


def test_what_exists_already_may_be_named() -> None:
    known = ExistingObjects(
        agents={"support": "model", "judge": "scripted"},
        fixtures=frozenset({"shop"}),
        entity_types={"order": {}},
    )

    imported = read(
        {
            "a.suite.yaml": SUITE + "fixtures: [shop]\njudge_model: scripted/judge\n",
            "b.fixture.yaml": USES_ORDERS,
        },
        known=known,
    )

    assert [suite.spec.slug for suite in imported.suites] == ["refunds"]
    assert imported.warnings == []


TEN_MISTAKES = """\
suite: 12
slug: Refund Flow
agent: suport
trails: 3
cases:
  - name: first
    channel: no
    turns:
      - user: hi
        assertions:
          - type: contians
            value: x
          - type: contains
            value: x
            weight: -1
      - user: 5
  - name: first
    turns: []
"""


def test_ten_errors_in_one_file_give_ten_places() -> None:
    problems = errors({"x.suite.yaml": TEN_MISTAKES}, known=KNOWN)

    assert [(item.line, item.keys) for item in problems] == [
        (1, "suite"),
        (2, "slug"),
        (3, "agent"),
        (4, "trails"),
        (7, "cases[0].channel"),
        (11, "cases[0].turns[0].assertions[0].type"),
        (15, "cases[0].turns[0].assertions[1].weight"),
        (16, "cases[0].turns[1].user"),
        (17, "cases[1].name"),
        (18, "cases[1].turns"),
    ]
    assert all(item.path == "x.suite.yaml" and item.column > 0 for item in problems)


def test_the_errors_of_all_files_are_reported_in_one_go() -> None:
    problems = errors(
        {
            "a.suite.yaml": SUITE.replace("suite: Refunds", "suite: 1"),
            "b.agent.yaml": AGENT + "colour: red\n",
            "c.fixture.yaml": "name: [",
            "d.txt": "hello",
        }
    )

    assert [item.path for item in problems] == [
        "a.suite.yaml",
        "b.agent.yaml",
        "c.fixture.yaml",
        "d.txt",
    ]


JURY = "assertions:\n  - {type: rubric, criteria: x, jury: [antropic/x]}\n"


@pytest.mark.parametrize(
    ("path", "text", "line", "keys", "message"),
    [
        ("s.suite.yaml", SUITE.replace("support", "suport"), 3, "agent", "'support'"),
        ("s.suite.yaml", SUITE + "fixtures: [shpo]\n", 10, "fixtures[0]", "'shop'"),
        ("s.suite.yaml", SUITE + "fixtures: shpo\n", 10, "fixtures", "'shop'"),
        ("s.suite.yaml", SUITE + "judge_model: mistral/large\n", 10, "judge_model", "'mistral'"),
        ("s.suite.yaml", SUITE + "judge_model: scripted/juge\n", 10, "judge_model", "'judge'"),
        ("s.suite.yaml", SUITE + "judge_model: scripted/support\n", 10, "judge_model", "'support'"),
        ("s.suite.yaml", SUITE + JURY, 11, "assertions[0].jury[0]", "'anthropic'"),
        ("a.agent.yaml", AGENT.replace(".query", ".qury"), 4, "tools[0]", "'entity.query'"),
        ("a.agent.yaml", AGENT.replace("anthropic/", "antropic/"), 3, "model", "'anthropic'"),
        (
            "f.fixture.yaml",
            FIXTURE.replace("type: order", "type: oder"),
            5,
            "entities[0].type",
            "'order'",
        ),
        ("f.fixture.yaml", FIXTURE.replace("total: 3", "price: 3"), 5, "entities[0].data", "total"),
        ("z.agent.yaml", AGENT, 2, "slug", "a.agent.yaml:2"),
    ],
)
def test_names_that_do_not_exist_are_refused(
    path: str, text: str, line: int, keys: str, message: str
) -> None:
    files = {"a.agent.yaml": AGENT, "j.agent.yaml": SCRIPTED, "f.fixture.yaml": FIXTURE}

    (problem,) = errors({"s.suite.yaml": SUITE, **files, path: text})

    assert (problem.path, problem.line, problem.keys) == (path, line, keys)
    assert message in problem.message


@pytest.mark.parametrize(
    ("path", "broken", "others"),
    [
        pytest.param("a.agent.yaml", AGENT + "x: 1\n", {"s.suite.yaml": SUITE}, id="agent"),
        pytest.param("support.agent.yaml", "agent: [\n", {"s.suite.yaml": SUITE}, id="no YAML"),
        ("a.fixture.yaml", FIXTURE + "x: 1\n", {"b.fixture.yaml": USES_ORDERS}),
    ],
)
def test_what_a_broken_file_has_is_not_reported_as_missing_too(
    path: str, broken: str, others: dict[str, str]
) -> None:
    assert {problem.path for problem in errors({path: broken, **others})} == {path}


def test_suites_and_agents_may_share_a_slug_and_fixtures_a_type() -> None:
    imported = read(
        {
            "a.agent.yaml": AGENT,
            "s.suite.yaml": SUITE.replace("slug: refunds", "slug: support"),
            "a.fixture.yaml": FIXTURE,
            "b.fixture.yaml": FIXTURE.replace("slug: shop", "slug: b"),
        }
    )

    assert [suite.spec.slug for suite in imported.suites] == ["support"]
    assert [item.spec.slug for item in imported.entity_types] == ["order"]


def test_two_fixtures_cannot_declare_different_types_under_one_slug() -> None:
    other = FIXTURE.replace("slug: shop", "slug: b").replace("required: [total]", "required: []")

    (problem,) = errors({"a.fixture.yaml": FIXTURE, "b.fixture.yaml": other})

    assert (problem.path, problem.line) == ("b.fixture.yaml", 3)
    assert "a.fixture.yaml:3" in problem.message


@pytest.mark.parametrize(
    ("path", "content"),
    [
        pytest.param("notes.txt", "hello", id="text"),
        pytest.param("package.json", "{}", id="json"),
        pytest.param("compose.yaml", "services: {}\n", id="other YAML"),
        pytest.param("list.yaml", "- 1\n", id="YAML that is a list"),
    ],
)
def test_a_file_that_is_no_eval_file_says_what_was_expected(path: str, content: str) -> None:
    (problem,) = errors({path: content})

    assert "*.suite.yaml" in problem.message
    assert "*.eval.yaml" in problem.message


def test_no_files_make_an_empty_import() -> None:
    assert read({}) == Imported()


PLAIN_FIXTURE = "name: P\nslug: plain\nentities: [{ref: r, type: pupil, data: {}}]\n"


def test_a_struere_suite_gets_every_fixture_of_its_project_and_no_other() -> None:
    imported = read(
        {
            "one/evals/x.eval.yaml": EVAL,
            "one/fixtures/b.fixture.yaml": PLAIN_FIXTURE,
            "one/fixtures/a.fixture.yaml": FIXTURE,
            "two/fixtures/c.fixture.yaml": PLAIN_FIXTURE.replace("slug: plain", "slug: other"),
        },
        known=KNOWN,
    )

    assert [suite.spec.fixtures for suite in imported.suites] == [["plain", "shop"]]


@pytest.mark.parametrize(
    ("suite", "fixture", "is_shared"),
    [
        pytest.param("evals/x.eval.yaml", "fixtures/a.fixture.yaml", True, id="project"),
        pytest.param("evals/deep/x.eval.yaml", "fixtures/a.fixture.yaml", True, id="deeper evals"),
        pytest.param("p/evals/x.eval.yaml", "q/fixtures/a.fixture.yaml", False, id="other project"),
        pytest.param("p/evals/x.eval.yaml", "p/q/fixtures/a.fixture.yaml", False, id="nested"),
        pytest.param("x.eval.yaml", "a.fixture.yaml", True, id="flat folder"),
        pytest.param("p/x.eval.yaml", "p/fixtures/a.fixture.yaml", True, id="no evals folder"),
        pytest.param("p/x.eval.yaml", "a.fixture.yaml", True, id="same root"),
        pytest.param("p/x.eval.yaml", "q/a.fixture.yaml", False, id="other folder"),
        pytest.param("pq/x.eval.yaml", "p/a.fixture.yaml", False, id="folder with a longer name"),
        ("C:\\p\\evals\\x.eval.yaml", "C:\\p\\fixtures\\a.fixture.yaml", True),
    ],
)
def test_a_project_is_the_folder_of_evals_and_fixtures(
    suite: str, fixture: str, *, is_shared: bool
) -> None:
    imported = read({suite: EVAL, fixture: PLAIN_FIXTURE}, known=KNOWN)

    assert [item.spec.fixtures for item in imported.suites] == [["plain"] if is_shared else []]


def test_undeclared_types_become_open_in_struere_projects() -> None:
    imported = read(
        {"evals/x.eval.yaml": EVAL, "fixtures/p.fixture.yaml": PLAIN_FIXTURE},
        known=ExistingObjects(agents={"support": "model"}, entity_types={"pupils": {}}),
    )

    assert [
        (item.spec.slug, item.spec.json_schema, item.line) for item in imported.entity_types
    ] == [("pupil", {}, 3)]
    assert [warning.line for warning in imported.warnings] == [3]
    assert "'pupils'" in imported.warnings[0].message


def test_a_type_is_opened_once_however_often_it_is_used() -> None:
    twice = "name: P\nslug: p\nentities:\n  - {ref: a, type: x, data: {}}\n  - {ref: b, type: x, data: {}}\n"

    imported = read({"fixtures/p.fixture.yaml": twice})

    assert [warning.line for warning in imported.warnings] == [4]


def test_an_opened_type_needs_a_slug_that_works() -> None:
    (problem,) = errors(
        {"p.fixture.yaml": PLAIN_FIXTURE.replace("type: pupil", "type: 'my pupil'")}
    )

    assert (problem.line, problem.keys) == (3, "entities[0].type")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"f.fixture.yaml": PLAIN_FIXTURE + "chunks: []\n"}, id="native keys"),
        pytest.param({"f.fixture.yaml": PLAIN_FIXTURE, "s.suite.yaml": SUITE}, id="native suite"),
        pytest.param({"f.fixture.yaml": PLAIN_FIXTURE, "a.agent.yaml": AGENT}, id="native agent"),
    ],
)
def test_undeclared_types_are_errors_in_native_imports(files: dict[str, str]) -> None:
    (problem,) = errors(files, known=KNOWN)

    assert problem.keys == "entities[0].type"


def test_types_that_another_file_declares_are_not_opened() -> None:
    declared = FIXTURE.replace("slug: order", "slug: pupil").replace("type: order", "type: pupil")

    imported = read(
        {
            "p/evals/x.eval.yaml": EVAL,
            "p/fixtures/a.fixture.yaml": declared,
            "p/fixtures/b.fixture.yaml": PLAIN_FIXTURE.replace("data: {}", "data: {total: 1}"),
        },
        known=KNOWN,
    )

    assert imported.warnings == []


def test_a_chosen_dialect_wins_over_the_content() -> None:
    (problem,) = errors({"x.yaml": EVAL + "trials: 2\n"}, dialect="struere", known=KNOWN)

    assert problem.keys == "trials"


def test_agents_are_native_whatever_the_dialect() -> None:
    imported = read({"a.agent.yaml": AGENT, "evals/x.eval.yaml": EVAL}, dialect="struere")

    assert [agent.spec.slug for agent in imported.agents] == ["support"]


SECRET = "sk-ant-0123456789"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("p.provider.yaml", "api_key_env: SECRET", id="instead of a variable"),
        pytest.param("p.provider.yaml", "api_key_env: SECRET-" + "x" * 120, id="too long"),
        pytest.param("p.provider.yaml", "api_key_env: [SECRET]", id="in a list"),
        pytest.param("p.provider.yaml", "api_key: SECRET", id="unknown key"),
        pytest.param("p.provider.yaml", "secrets: {any: SECRET}", id="unknown mapping"),
        pytest.param("p.provider.yaml", "apiKey: !SECRET x", id="tag"),
        pytest.param("p.provider.yaml", "base_url: ftp://me:SECRET@host", id="in an address"),
        pytest.param("a.agent.yaml", "headers: {Authorization: SECRET}", id="header"),
        pytest.param("a.agent.yaml", "settings: {api_key: SECRET}", id="setting"),
        pytest.param("a.agent.yaml", "model: {provider: p, name: n, token: SECRET}", id="model"),
        pytest.param("s.suite.yaml", "judge_model: {password: SECRET}", id="judge"),
        pytest.param("s.eval.yaml", "apiKey: SECRET", id="struere"),
    ],
)
def test_a_secret_in_the_wrong_place_is_never_repeated(path: str, text: str) -> None:
    problems = errors({path: text.replace("SECRET", SECRET)})

    assert SECRET not in " ".join(map(str, problems))


@pytest.mark.parametrize("written", ["12345678", "0123", "1_2"])
def test_digits_in_the_place_of_a_secret_are_never_repeated(written: str) -> None:
    provider = f"provider: P\nslug: p\nkind: scripted\napi_key_env: {written}\n"

    problems = " ".join(map(str, errors({"p.provider.yaml": provider})))

    assert "Expected text" in problems
    assert written not in problems


def test_json_is_read_as_it_is() -> None:
    key = "k" * 2000  # YAML takes no such key, unless a question mark stands before it
    turn = {"user": "no\u2028\U0001f600", "assertions": []}
    case = {"name": "a", "context_params": {key: "1e5"}, "turns": [turn]}
    data = {"suite": "S", "slug": "s", "agent": "a", "gates": {"max_p95_ms": 1e21}, "cases": [case]}

    imported = read_files(
        [SourceData("s.suite.yaml", data)],
        dialect="native",
        known=ExistingObjects(agents={"a": "model"}),
    )

    (suite,) = imported.suites
    assert suite.spec.model_dump(exclude_unset=True) == data
    assert (suite.path, suite.line) == ("s.suite.yaml", 0)


def test_what_is_wrong_with_json_is_reported_by_its_keys() -> None:
    case = {"name": "a", "turns": [{"user": 1}]}

    with pytest.raises(FormatError) as caught:
        read_files([SourceData("s.suite.yaml", {"trails": 2, "cases": [case, case]})])

    keys = {problem.keys for problem in caught.value.problems}
    assert {"trails", "agent", "cases[0].turns[0].user", "cases[1].name"} <= keys
    assert {(problem.line, problem.column) for problem in caught.value.problems} == {(0, 0)}


def test_json_with_too_many_values_is_refused() -> None:
    with pytest.raises(FormatError, match="500,000 values"):
        read_files([SourceData("s.suite.yaml", {"cases": [[0] * 1000] * 1000})])


@pytest.mark.parametrize(
    "value",
    ["a\0b", "\ud83d", float("inf"), 10**1000],
    ids=["nothing", "half a character", "infinity", "long"],
)
def test_json_that_no_database_stores_is_refused_at_its_keys(value: Any) -> None:
    case = {"name": "a", "turns": [{"user": "x", "config": {"k": [value]}}]}
    data = {"suite": "S", "slug": "s", "agent": "a", "cases": [case]}

    with pytest.raises(FormatError) as caught:
        read_files([SourceData("s.suite.yaml", data)], known=ExistingObjects(agents={"a": "model"}))

    assert [problem.keys for problem in caught.value.problems] == ["cases[0].turns[0].config.k[0]"]


def test_a_dialect_that_is_named_leaves_native_files_next_to_it_as_they_are() -> None:
    ping = "name: ping\nturns: [{content: hi, assert: [{type: contains, value: x}]}]\n"

    imported = read(
        {"agents/support/evals/ping.yaml": ping, "a.agent.yaml": AGENT, "b.suite.yaml": SUITE},
        dialect="lobu",
    )

    assert {suite.spec.slug for suite in imported.suites} == {"support-ping", "refunds"}


CUT = "refund for order #7"


@pytest.mark.parametrize(
    ("path", "files"),
    [
        pytest.param(
            "agents/support/evals/x.yaml",
            {
                "agents/support/evals/x.yaml": "name: x\nturns:\n  - content: hi\n    assert:\n"
                f"      - type: contains\n        value: {CUT}\n"
            },
            id="Lobu",
        ),
        pytest.param(
            "support/agentura.yaml",
            {
                "support/agentura.yaml": f"evals:\n- name: {CUT}\n  type: performance\n"
                "  dataset: a.jsonl\n  max_p95_ms: 9\n",
                "support/a.jsonl": '{"input": "hi"}\n',
            },
            id="Agentura",
        ),
        pytest.param(
            "x/agent.yaml",
            {
                "x/agent.yaml": "name: x\nmodel: {provider: openai, name: m}\n"
                "instructions: {inline: Be kind.}\ntest_cases:\n"
                f"- input: hi\n  ground_truth: {CUT}\n"
                "evaluations: {metrics: [{type: standard, metric: equality}]}\n"
            },
            id="HoloDeck",
        ),
        pytest.param(
            "x/promptfooconfig.yaml",
            {
                "x/promptfooconfig.yaml": "prompts: [hi]\nproviders: [openai:gpt-5]\ntests:\n"
                f"- assert:\n  - type: contains\n    value: {CUT}\n"
            },
            id="promptfoo",
        ),
        pytest.param(
            "x/tests.yaml",
            {
                "x/promptfooconfig.yaml": "prompts: [hi]\nproviders: [openai:gpt-5]\n"
                "tests: file://tests.yaml\n",
                "x/tests.yaml": f"- assert:\n  - type: contains\n    value: {CUT}\n",
            },
            id="tests of promptfoo",
        ),
    ],
)
def test_a_text_that_yaml_cuts_off_is_warned_of(path: str, files: dict[str, str]) -> None:
    main, *others = (SourceFile(name, text.encode()) for name, text in files.items())

    imported = read_files([main], known=KNOWN, find={o.path: o.content for o in others}.get)

    cut = [warning for warning in imported.warnings if "#" in warning.message]
    assert [(warning.path, "refund" in warning.message) for warning in cut] == [(path, True)]


TWO_CASES = SUITE + "  - name: d\n    turns: [{user: hi}, {user: bye}]\n"  # 6 parts


OTHER_CASES = TWO_CASES.replace("slug: refunds", "slug: others")


UNSOUND = TWO_CASES.replace("user: bye", "usr: bye")


@pytest.mark.parametrize(
    ("limit", "most", "first", "path"),
    [
        pytest.param("foreign.draft.MAX_PARTS", 5, UNSOUND, "a.suite.yaml", id="unsound parts"),
        pytest.param("importing.MAX_PARTS", 11, TWO_CASES, "b.suite.yaml", id="parts of all files"),
        pytest.param("importing.MAX_VALUES", 30, TWO_CASES, "b.suite.yaml", id="values of all"),
    ],
)
def test_what_is_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, first: str, path: str
) -> None:
    monkeypatch.setattr(f"evals_app.formats.{limit}", most)

    problems = errors({"a.suite.yaml": first, "b.suite.yaml": OTHER_CASES}, known=KNOWN)

    (problem,) = [problem for problem in problems if problem.path == path]
    assert "Split" in problem.message or f"than {most} values" in problem.message


def test_files_of_as_many_parts_as_are_allowed_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_PARTS", 6)
    monkeypatch.setattr(draft, "MAX_PARTS", 6)

    imported = read({"a.suite.yaml": TWO_CASES}, known=KNOWN)

    assert len(imported.suites[0].spec.cases) == 2


def test_a_case_takes_a_few_kilobytes_while_it_is_read() -> None:
    rows = "".join(f"Where is my order {n}?,It is on its way {n}.\n" for n in range(2000))
    source = SourceFile("a.csv", f"question,answer\n{rows}".encode())
    known = ExistingObjects(agents={"desk": "model"})
    read_files([source], agent="desk", known=known)  # what is imported once

    tracemalloc.start()
    try:
        read_files([source], agent="desk", known=known)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak / 2000 < 8000  # about 3,000


HTTP = "agent: Support\nslug: support\ndriver: http\nurl: https://agent.example.org/\n"


@pytest.mark.parametrize(
    ("agents", "stored", "warned"),
    [
        pytest.param({"a.agent.yaml": AGENT}, "http", [], id="a model"),
        pytest.param({"a.agent.yaml": HTTP}, "model", ["cases[0].streaming"], id="over HTTP"),
        pytest.param({}, "http", ["cases[0].streaming"], id="stored, over HTTP"),
    ],
)
def test_streaming_of_an_agent_that_is_no_model_is_warned_about(
    agents: dict[str, str], stored: str, warned: list[str]
) -> None:
    suite = SUITE.replace("  - name: c\n", "  - name: c\n    streaming: true\n")

    imported = read(
        {**agents, "s.suite.yaml": suite}, known=ExistingObjects(agents={"support": stored})
    )

    assert [warning.keys for warning in imported.warnings] == warned


@pytest.mark.parametrize("dialect", ["promptfoo", "holodeck", "lobu", "agentura"])
def test_a_format_that_none_of_the_files_has_is_refused(dialect: str) -> None:
    (problem,) = errors(
        {"s.suite.yaml": SUITE}, dialect=dialect, known=ExistingObjects(agents={"support": ""})
    )

    assert problem.path == "s.suite.yaml"
    assert "--format" in problem.message


@pytest.mark.parametrize(
    ("rules", "warned"),
    [
        pytest.param("[{when: a, reply: A}, {reply: B}]", [], id="any message is last"),
        pytest.param("[{reply: B}, {when: a, reply: A}]", ["rules[1]"], id="any message is first"),
        pytest.param("[{turn: 1, reply: B}, {when: a, reply: A}]", [], id="in one turn only"),
    ],
)
def test_rules_below_one_for_any_message_are_warned_of(rules: str, warned: list[str]) -> None:
    imported = read({"a.agent.yaml": f"agent: A\nslug: a\ndriver: scripted\nrules: {rules}\n"})

    assert [warning.keys for warning in imported.warnings] == warned


def test_a_relative_path_in_a_command_is_explained() -> None:
    with permitting(commands=("node",)):
        imported = read(
            {"a.agent.yaml": "agent: A\nslug: a\ndriver: command\ncommand: [node, ./a.js, a/b]\n"}
        )

    assert [warning.keys for warning in imported.warnings] == ["command[1]"]


def test_statements_of_other_templates_that_reach_an_agent_or_a_judge_are_reported_once() -> None:
    block = "{% if gold %}Hi{% endif %}"
    agent = f"agent: A\nslug: a\ndriver: model\nmodel: openai/gpt-5\nsystem_prompt: '{block}'\n"
    turns = f"turns: [{{user: '{block}', assertions: [{{type: contains, value: hello}}]}}]"
    suite = (
        f"suite: S\nslug: s\nagent: a\njudge_context: '{block}'\ncases:\n"
        f"- {{name: one, {turns}}}\n- {{name: two, {turns}}}\n"
    )
    files = [SourceFile("a.agent.yaml", agent.encode()), SourceFile("s.suite.yaml", suite.encode())]

    imported = read_files(files)

    said = [(problem.keys, problem.level) for problem in (*imported.losses, *imported.warnings)]
    assert [item for item in said if "gpt" not in item[0]] == [
        ("system_prompt", "loss"),
        ("judge_context", "loss"),
        ("cases[0].turns[0].user", "warning"),
    ]
