"""What is written beside files of other systems."""

from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import eval_files
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(
    agents={"echo": "http", "other": "http"}, fixtures=frozenset({"shop", "depot"})
)
HOLODECK = """\
name: Desk
model: {provider: scripted, name: echo}
evaluations:
  metrics:
    - {type: rag, metric_type: faithfulness, threshold: 0.7}
    - {type: standard, metric: numeric}
test_cases:
  - {name: one, input: How many?, ground_truth: "5"}
  - {name: two, input: How much?, ground_truth: "6"}
"""
PING = """\
name: ping
turns: [{content: hi, assert: [{type: contains, value: hello there}]}]
"""
QUESTIONS = "question,expected\nHow many?,5 pieces\n"
PROMPTFOO = """\
prompts: ["{{q}}"]
providers: [openai:gpt-5, openai:gpt-5-mini]
tests: [{vars: {q: hi}, assert: [{type: contains, value: hello there}]}]
"""
STRUERE = """\
suite: Old
slug: old
agent: echo
cases: [{name: one, turns: [{user: hi, assertions: [{type: contains, value: hello there}]}]}]
"""
NATIVE = STRUERE.replace("slug: old", "slug: new")


def read(files: dict[str, str], **options: Any) -> Imported:
    sent = [SourceFile(path, text.encode()) for path, text in files.items()]
    how: dict[str, Any] = {"known": KNOWN, "agent": "echo"} | options
    return read_files(sent, **how)


def suite(files: dict[str, str], **options: Any) -> SuiteSpec:
    (located,) = read(files, **options).suites
    return located.spec


def problems(files: dict[str, str], **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as raised:
        read(files, **options)
    return [problem for problem in raised.value.problems if problem.level == "error"]


def test_what_the_file_cannot_say_is_read_from_beside_it() -> None:
    beside = """\
judge_model: openai/gpt-5
fixtures: shop
gates: {min_score: 0.5}
cases:
  two: {trials: 5, limits: {max_tool_calls: 3}}
checks:
  - match: {type: faithfulness}
    set: {mode: no_contradiction}
  - match: {type: numeric, decimal: auto}
    set: {decimal: comma, name: How many}
"""

    desk = suite({"p/agent.yaml": HOLODECK, "p/agent.evalwell.yaml": beside}, agent=None)

    assert (str(desk.judge_model), desk.fixtures) == ("openai/gpt-5", ["shop"])
    assert desk.gates.min_score == 0.5
    assert [(case.trials, case.limits.max_tool_calls) for case in desk.cases] == [
        (None, None),
        (5, 3),
    ]
    assert [check.model_dump(exclude_defaults=True) for check in desk.assertions] == [
        {"type": "faithfulness", "mode": "no_contradiction", "threshold": 0.7},
        {"type": "numeric", "name": "How many", "decimal": "comma"},
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("agent.yaml", HOLODECK.replace("model:", "#")),
        ("agents/echo/evals/ping.yaml", PING),
        ("questions.csv", QUESTIONS),
        ("old.eval.yaml", STRUERE),
    ],
)
def test_it_is_beside_files_of_every_system(path: str, text: str) -> None:
    sidecar = f"{path.rpartition('.')[0]}.evalwell.yaml"
    beside = "fixtures: [shop]\ntrials: 7\n"

    with_it = suite({path: text, sidecar: beside})

    assert (with_it.fixtures, with_it.trials) == (["shop"], 7)
    found = suite({path: text}, find={sidecar: beside.encode()}.get)
    assert found == with_it


def test_an_agent_beside_a_table_is_the_one_that_it_lacks() -> None:
    assert problems({"questions.csv": QUESTIONS}, agent=None)

    files = {"questions.csv": QUESTIONS, "questions.evalwell.yaml": "agent: other\n"}
    assert suite(files, agent=None).agent == "other"


def test_one_of_several_suites_is_named_by_its_slug() -> None:
    slugs = [located.spec.slug for located in read({"promptfooconfig.yaml": PROMPTFOO}).suites]
    assert len(slugs) == 1

    files = {"promptfooconfig.yaml": PROMPTFOO}
    many = read(files, agent=None).suites
    beside = f"trials: 2\nsuites: {{{many[1].spec.slug}: {{trials: 3, judge_model: agent}}}}\n"
    changed = read({**files, "promptfooconfig.evalwell.yaml": beside}, agent=None).suites

    assert [located.spec.trials for located in changed] == [2, 3]
    assert [located.spec.judge_model for located in changed] == [None, "agent"]


@pytest.mark.parametrize(
    ("beside", "line", "keys", "word"),
    [
        ("judg_model: agent\n", 1, "judg_model", "'judge_model'"),
        ("trials: many\n", 1, "trials", "number"),
        ("fixtures: shp\n", 1, "fixtures", "'shop'"),
        ("cases:\n  tow: {trials: 2}\n", 2, "cases.tow", "'two'"),
        ("cases: {two: {turns: []}}\n", 1, "cases.two.turns", "turns"),
        ("cases: {two: {trials: 0}}\n", 1, "cases.two.trials", "1"),
        ("checks: [{match: {type: numerc}, set: {}}]\n", 1, "checks[0].match.type", "'numeric'"),
        (
            "checks: [{match: {type: numeric, decimal: coma}, set: {}}]\n",
            *(1, "checks[0].match.decimal", "auto"),
        ),
        (
            "checks:\n- match: {type: numeric}\n  set:\n    decimals: comma\n",
            *(4, "checks[0].set.decimals", "'decimal'"),
        ),
        (
            "checks: [{match: {type: numeric}, set: {type: contains}}]\n",
            *(1, "checks[0].set", "type"),
        ),
        ("checks: [{match: {name: x}, set: {}}]\n", 1, "checks[0].match.type", "type"),
        ("suites: {dsk: {trials: 2}}\n", 1, "suites.dsk", "'desk'"),
        ("trials: [\n", 2, "", ""),
    ],
)
def test_what_fits_nothing_is_an_error_in_the_file_beside(
    beside: str, line: int, keys: str, word: str
) -> None:
    (problem,) = problems({"agent.yaml": HOLODECK, "agent.evalwell.yaml": beside}, agent=None)

    assert (problem.path, problem.line, problem.keys) == ("agent.evalwell.yaml", line, keys)
    assert word in problem.message


@pytest.mark.parametrize(
    "files",
    [
        {"questions.csv": QUESTIONS, "agent.evalwell.yaml": "trials: 2\n"},
        {"new.suite.yaml": NATIVE, "new.suite.evalwell.yaml": "trials: 2\n"},
    ],
)
def test_a_file_beside_nothing_is_an_error_that_says_so(files: dict[str, str]) -> None:
    (problem,) = problems(files)

    assert problem.path.endswith(".evalwell.yaml")


def test_an_error_in_the_file_itself_is_not_repeated_for_the_one_beside() -> None:
    reported = problems({"agent.yaml": "name: [\n", "agent.evalwell.yaml": "trials: 2\n"})

    assert {problem.path for problem in reported} == {"agent.yaml"}


def test_a_hint_names_the_file_in_which_the_option_can_be_written() -> None:
    short = PING.replace("hello there", '"5"')
    (warning,) = read({"agents/echo/evals/ping.yaml": short}).warnings
    assert "whole_words" in warning.message
    assert "ping.evalwell.yaml" in warning.message

    beside = "checks: [{match: {type: contains}, set: {whole_words: true}}]\n"
    files = {"agents/echo/evals/ping.yaml": short, "agents/echo/evals/ping.evalwell.yaml": beside}
    assert read(files).warnings == []

    ours = NATIVE.replace("hello there", '"5"')
    (warning,) = read({"new.suite.yaml": ours}).warnings
    assert "evalwell.yaml" not in warning.message


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["agent.yaml", "agent.evalwell.yaml"], ["agent.yaml", "agent.evalwell.yaml"]),
        (["q.csv", "q.evalwell.yaml"], ["q.csv", "q.evalwell.yaml"]),
        (["new.suite.yaml", "q.csv", "q.evalwell.yaml"], ["new.suite.yaml"]),
        (["new.suite.yaml", "gone.evalwell.yaml"], ["new.suite.yaml", "gone.evalwell.yaml"]),
        (
            ["agents/a/evals/p.yaml", "agents/a/evals/p.evalwell.yaml"],
            ["agents/a/evals/p.yaml", "agents/a/evals/p.evalwell.yaml"],
        ),
    ],
)
def test_a_folder_gives_what_is_beside_its_eval_files(paths: list[str], found: list[str]) -> None:
    assert eval_files(paths) == found


def test_what_was_chosen_here_stays_if_the_file_does_not_set_it() -> None:
    chosen = {"desk": {"fixtures": ["shop"], "judge_model": "openai/gpt-5"}}
    known = ExistingObjects(
        agents=KNOWN.agents, fixtures=KNOWN.fixtures, chosen=lambda slug: chosen.get(slug, {})
    )
    files = {"agent.yaml": HOLODECK}

    imported = read(files, known=known, agent=None)

    (guess,) = imported.guesses
    assert "fixtures and judge_model" in guess.message
    desk = imported.suites[0].spec
    assert (desk.fixtures, str(desk.judge_model)) == (["shop"], "openai/gpt-5")


@pytest.mark.parametrize(
    ("files", "fixtures", "judge"),
    [
        (
            {"agent.yaml": HOLODECK, "agent.evalwell.yaml": "{fixtures: [], judge_model: null}\n"},
            *([], None),
        ),
        ({"desk.suite.yaml": NATIVE.replace("slug: new", "slug: desk")}, [], None),
        (
            {
                "agent.yaml": HOLODECK.replace(
                    "ations:", "ations:\n  model: {provider: openai, name: m}"
                )
            },
            *(["shop"], "openai/m"),
        ),
        (
            {"x.eval.yaml": STRUERE.replace("slug: old", "slug: desk\njudgeModel: openai/m")},
            *(["shop"], "openai/m"),
        ),
        ({"x.eval.yaml": STRUERE.replace("slug: old", "slug: desk")}, ["shop"], "openai/gpt-5"),
        ({"desk.csv": QUESTIONS}, ["shop"], "openai/gpt-5"),
    ],
)
def test_what_a_file_says_outweighs_what_was_chosen(
    files: dict[str, str], fixtures: list[str], judge: str | None
) -> None:
    chosen = {"desk": {"fixtures": ["shop"], "judge_model": "openai/gpt-5"}}
    known = ExistingObjects(
        agents=KNOWN.agents, fixtures=KNOWN.fixtures, chosen=lambda slug: chosen.get(slug, {})
    )

    desk = suite(files, known=known, agent=None if "agent.yaml" in files else "echo")

    assert desk.fixtures == fixtures
    assert (desk.judge_model and str(desk.judge_model)) == judge
