import json
from typing import Any

import pytest

from evals_app.formats.importing import SourceFile, read_files
from tests.formats.promptfoo.projects import CONFIG, HEAD, problems, read, suite, turns, with_tests


def test_tests_have_what_is_common_to_all() -> None:
    config = with_tests(
        """\
  - vars: {what: own}
    assert: [{type: contains, value: a}]
  - options: {disableDefaultAsserts: true, suffix: '!'}
    assert: [{type: contains, value: b}]
defaultTest:
  vars: {what: default}
  metadata: {team: x}
  options: {prefix: '> '}
  assert: [{type: icontains, value: '{{what}}'}]
"""
    )

    spec = suite(config)["cases"]

    assert [case["tags"] for case in spec] == [["team=x"], ["team=x"]]
    assert [case["turns"][0]["user"] for case in spec] == ["> Say own", "> Say default!"]
    assert [[item["value"] for item in case["turns"][0]["assertions"]] for case in spec] == [
        ["own", "a"],
        ["b"],
    ]


@pytest.mark.parametrize(
    ("tests", "files", "users_of_cases"),
    [
        ("file://t.yaml", {"t.yaml": "- vars: {what: a}\n- vars: {what: b}\n"}, ["a", "b"]),
        ("t.yaml", {"t.yaml": "vars: {what: a}\n"}, ["a"]),
        ("[file://t.json, {vars: {what: c}}]", {"t.json": '[{"vars": {"what": "a"}}]'}, ["a", "c"]),
        ("file://t.jsonl", {"t.jsonl": '{"vars": {"what": "a"}}\n{"vars": {"what": "b"}}\n'}, ["a", "b"]),
        ("file://t.csv", {"t.csv": 'what\na\n"b, c"\n'}, ["a", "b, c"]),
        ("[{vars: file://v.yaml}]", {"v.yaml": "what: a\n"}, ["a"]),
        ("[{vars: {what: file://v.txt}}]", {"v.txt": "a\n"}, ["a"]),
        ("[{vars: {what: [a, file://v.txt]}}]", {"v.txt": "b"}, ["a", "b"]),
        ("[{vars: {what: [a, b]}, options: {disableVarExpansion: true}}]", {}, ['["a", "b"]']),
        ("[{vars: {what: [{a: 1}]}}]", {}, ['[{"a": 1}]']),
        ("[{vars: {what: yes}}, {vars: {what: 'no'}}, {vars: {what: true}}]", {}, ["yes", "no", "true"]),
    ],
)  # fmt: skip
def test_tests_and_their_variables_are_written_here_or_in_files(
    tests: str, files: dict[str, str | bytes], users_of_cases: list[str]
) -> None:
    rows = turns(f"{HEAD}tests: {tests}\n", files)

    assert [turn["user"] for turn in rows] == [f"Say {case}" for case in users_of_cases]


def test_files_of_one_import_are_found_by_a_pattern() -> None:
    sources = [
        SourceFile(CONFIG, f"{HEAD}tests: file://cases/*.yaml\n".encode()),
        SourceFile("demo/cases/a.yaml", b"- vars: {what: a}\n"),
        SourceFile("demo/cases/b.yaml", b"- vars: {what: b}\n"),
        SourceFile("demo/other.yaml", b"prompts: [x]\nproviders: [echo]\ntests: [{vars: {}}]\n"),
    ]

    imported = read_files(sources)

    assert [[case.turns[0].user for case in item.spec.cases] for item in imported.suites] == [
        ["Say a", "Say b"],
        ["x"],
    ]


def test_variables_with_several_values_make_a_case_for_each_combination() -> None:
    config = "prompts: ['{{a}} {{b}}']\nproviders: [echo]\ntests: [{description: d, vars: {a: [x, y], b: [p, q], c: 1}}]\n"

    spec = suite(config)["cases"]

    assert [(case["name"], case["turns"][0]["user"]) for case in spec] == [
        ("d (a: x, b: p)", "x p"),
        ("d (a: x, b: q)", "x q"),
        ("d (a: y, b: p)", "y p"),
        ("d (a: y, b: q)", "y q"),
    ]


def test_too_many_combinations_are_refused() -> None:
    values = json.dumps([str(n) for n in range(40)])

    errors = problems(with_tests(f"  - vars: {{a: {values}, b: {values}}}\n"))

    assert "1,000 combinations" in errors[0].message


def test_pictures_and_pdfs_are_shown_to_the_agent() -> None:
    picture = b"\x89PNG\r\n\x1a\n rest"
    chat = json.dumps(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "{{q}}"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,{{image}}"}},
                ],
            }
        ]
    )
    config = f"prompts: [{json.dumps(chat)}]\nproviders: [openai:gpt-5]\ntests: [{{vars: {{q: 'What is it?', image: file://img/chart.png}}}}]\n"

    (turn,) = turns(config, {"img/chart.png": picture})

    assert turn["user"] == "What is it?"
    assert [item["path"] for item in turn["files"]] == ["img/chart.png"]


SCENARIO = """\
prompts: ['Speak in {{language}}: {{input}}']
providers: [echo]
scenarios:
  - config:
      - vars: {language: Spanish, hello: Hola mundo, morning: Buenos dias}
      - vars: {language: French, hello: Bonjour le monde, morning: Bonjour}
    tests:
      - description: Hello
        vars: {input: Hello world}
        assert: [{type: similar, value: '{{hello}}', threshold: 0.9}]
      - description: Morning
        vars: {input: Good morning}
        assert: [{type: similar, value: '{{morning}}', threshold: 0.9}]
"""


def test_scenarios_run_every_test_on_every_row() -> None:
    spec = suite(SCENARIO)["cases"]

    assert [
        (case["name"], case["turns"][0]["user"], case["turns"][0]["assertions"][0]["value"])
        for case in spec
    ] == [
        ("Hello", "Speak in Spanish: Hello world", "Hola mundo"),
        ("Morning", "Speak in Spanish: Good morning", "Buenos dias"),
        ("Hello (2)", "Speak in French: Hello world", "Bonjour le monde"),
        ("Morning (2)", "Speak in French: Good morning", "Bonjour"),
    ]


CONTAINS = {"type": "contains", "case_sensitive": True}
MATCHES = {"type": "matches", "case_sensitive": True}
SIMILAR = {"type": "semantic_similarity"}


def test_a_row_of_a_table_says_what_a_test_says() -> None:
    table = (
        "what,__expected,__expected2,__description,__metric,__prefix,__suffix,__threshold,"
        "__metadata:level,__metadata:topics[],__config:__expected2:threshold\n"
        'hi,contains: Hi,similar(0.8):Hello there,Greets,tone,"> ",!,0.5,easy,"a,b\\,c",0.9\n'
    )

    spec = suite(f"{HEAD}tests: file://t.csv\n", {"t.csv": table})

    assert (spec["pass_rule"], spec["pass_threshold"]) == ("score", 0.5)
    assert spec["cases"] == [
        {
            "name": "Greets",
            "tags": ["level=easy", "topics=a", "topics=b,c"],
            "turns": [
                {
                    "user": "> Say hi!",
                    "assertions": [
                        CONTAINS | {"name": "tone", "value": "Hi"},
                        SIMILAR | {"name": "tone", "value": "Hello there", "threshold": 0.9},
                    ],
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("cell", "check"),
    [
        ("Paris", {"type": "exact_match", "value": "Paris"}),
        ("note: Paris", {"type": "exact_match", "value": "note: Paris"}),
        ("equals: 4", {"type": "exact_match", "value": "4"}),
        ("contains-any: a, b", MATCHES | {"value": "a|b"}),
        (
            'contains-any: "a, b" , c,, "say ""d""", "\\"e\\\\"',
            MATCHES | {"value": r'a,\ b|c|say\ "d"|"e\\'},
        ),
        ("starts-with:The", MATCHES | {"value": r"\AThe"}),
        ("not-contains:x", {"type": "not_contains", "value": "x", "case_sensitive": True}),
        ("contains-json", {"type": "json_valid"}),
        ("grade: is kind", {"type": "llm_judge", "criteria": "is kind"}),
        ("similar:Hi", {"type": "semantic_similarity", "value": "Hi", "threshold": 0.8}),
    ],
)
def test_an_assertion_may_be_one_text(cell: str, check: Any) -> None:
    quoted = cell.replace('"', '""')

    (turn,) = turns(f"{HEAD}tests: t.csv\n", {"t.csv": f'what,__expected\nhi,"{quoted}"\n'})

    assert turn["assertions"] == [check]


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        pytest.param("a,__expected\n1,x\n2,contains-all: a, b\n", 3, "quotation marks", id="cell"),
        pytest.param("a,__expected,__expected\n1,x,y\n", 1, "__expected1", id="column"),
    ],
)
def test_a_table_in_which_a_cell_would_be_overlooked_is_refused(
    table: str, line: int, words: str
) -> None:
    (problem,) = problems(f"{HEAD}tests: t.csv\n", {"t.csv": table})

    assert (problem.path, problem.line) == ("demo/t.csv", line)
    assert words in problem.message


def test_empty_cells_at_the_end_of_a_row_are_none() -> None:
    assert len(turns(f"{HEAD}tests: t.csv\n", {"t.csv": "what,__expected,\na,x,,\n"})) == 1


def test_tests_may_be_for_some_prompts_and_providers() -> None:
    config = """\
prompts: [{raw: 'A {{what}}', label: 'group:a'}, {raw: 'B {{what}}', label: b}]
providers: [{id: openai:gpt-5, label: five, prompts: [group]}, {id: echo, label: e}]
tests:
  - vars: {what: '1'}
  - {vars: {what: '2'}, prompts: [b]}
  - {vars: {what: '3'}, providers: [echo]}
"""

    result = {item.spec.slug: item.spec.cases for item in read(config).suites}

    assert {slug: [case.turns[0].user for case in cases] for slug, cases in result.items()} == {
        "demo-group-a-five": ["A 1"],
        "demo-group-a-e": ["A 1", "A 3"],
        "demo-b-e": ["B 1", "B 2", "B 3"],
    }


@pytest.mark.parametrize(
    ("head", "test", "losses"),
    [
        (HEAD, "prompts: [p-1]", [("tests[0]", "'p-1'"), ("tests[0]", "left out")]),
        (HEAD, "providers: [ecko, echo]", [("tests[0]", "Did you mean 'echo'?")]),
        (
            "prompts: [{label: a, raw: A}]\nproviders: [echo, {id: openai:gpt-5, prompts: [b]}]\n",
            "providers: [openai:gpt-5]",
            [("providers[1]", "'b'"), ("tests[0]", "left out")],
        ),
    ],
)
def test_a_test_that_no_one_is_asked_is_lost_with_the_reason(
    head: str, test: str, losses: list[tuple[str, str]]
) -> None:
    rows = f"  - {{vars: {{what: a}}, {test}}}\n  - {{vars: {{what: b}}}}\n"

    lost = read(with_tests(rows, head)).losses

    assert [item.keys for item in lost] == [keys for keys, _ in losses]
    assert all(words in item.message for item, (_, words) in zip(lost, losses, strict=True))


def test_providers_that_are_one_agent_here_are_asked_what_either_is() -> None:
    head = (
        "prompts: [{label: a, raw: A}, {label: b, raw: B}]\nproviders:\n"
        "  - {id: 'https://one.example', label: one, prompts: [a]}\n"
        "  - {id: 'https://two.example', label: two, prompts: [b]}\n"
    )
    rows = "  - {vars: {x: 1}, providers: [two]}\n"

    imported = read(with_tests(rows, head), agent="desk")

    assert [item.spec.slug for item in imported.suites] == ["demo-a", "demo-b"]


def test_a_threshold_lets_the_score_decide_and_makes_a_suite_of_its_own() -> None:
    config = with_tests(
        """\
  - {vars: {what: a}, assert: [{type: contains, value: a}]}
  - {vars: {what: b}, threshold: 0.5, assert: [{type: contains, value: b}]}
"""
    )

    result = [item.spec for item in read(config).suites]

    assert [(item.slug, item.pass_rule, len(item.cases)) for item in result] == [
        ("demo", "all", 1),
        ("demo-score-0-5", "score", 1),
    ]
    assert [item.suite for item in result] == ["demo", "demo - score 0.5"]
    assert result[1].pass_threshold == 0.5


def test_what_a_program_makes_or_another_place_has_is_lost() -> None:
    config = f"{HEAD}tests: [file://make.py, 'https://docs.google.com/x', {{path: file://g.js}}, {{vars: {{what: 'file://v.js'}}}}, file://t.xlsx#Two]\n"

    imported = read(config)

    assert [loss.keys for loss in imported.losses] == [
        "tests[0]",
        "tests[1]",
        "tests[2]",
        "tests[3].vars.what",
        "tests[4]",
    ]
    assert len(imported.suites[0].spec.cases) == 1


@pytest.mark.parametrize("tests", ["file://t.yaml", "[{vars: file://t.yaml}]"])
def test_files_that_name_each_other_come_to_an_end(tests: str) -> None:
    errors = problems(f"{HEAD}tests: {tests}\n", {"t.yaml": "'file://t.yaml'\n"})

    assert [(item.path, item.keys) for item in errors] == [("demo/t.yaml", "")]
    assert "each other" in errors[0].message
