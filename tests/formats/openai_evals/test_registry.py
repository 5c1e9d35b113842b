from collections.abc import Mapping
from typing import Any

import pytest

from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem
from tests.formats.openai_evals.saved import KNOWN, Json, dumped

REGISTRY = """\
sums:
  id: sums.dev.v0
  description: Adds numbers.
  metrics: [accuracy]
sums.dev.v0:
  class: evals.elsuite.{}
  args:
    samples_jsonl: sums/samples.jsonl
"""
MATCH = REGISTRY.format("basic.match:Match")
SAMPLES = """\
{"input": [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2"}], "ideal": "4"}
{"input": "3+3", "ideal": ["6", "six"]}
"""


def read(
    registry: str,
    samples: str = SAMPLES,
    files: Mapping[str, str] | None = None,
    agent: str | None = "desk",
) -> Imported:
    beside = {
        "registry/data/sums/samples.jsonl": samples.encode(),
        **{f"registry/{name}": text.encode() for name, text in (files or {}).items()},
    }
    source = SourceFile("registry/evals/sums.yaml", registry.encode())
    return read_files([source], known=KNOWN, find=beside.get, agent=agent)


def errors(registry: str, *args: Any, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(registry, *args, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def checks(
    registry: str, samples: str = SAMPLES, files: Mapping[str, str] | None = None
) -> list[Any]:
    """Return the checks of each case."""
    (located,) = read(registry, samples, files).suites
    written = dumped(located.spec)
    shared = written.get("assertions", [])
    return [shared + case["turns"][0].get("assertions", []) for case in written["cases"]]


def test_a_name_of_an_eval_is_a_suite_of_its_samples() -> None:
    (located,) = read(MATCH).suites

    suite = located.spec
    assert (suite.slug, suite.agent, suite.description) == ("sums", "desk", "Adds numbers.")
    assert [case.turns[0].user for case in suite.cases] == ["2+2", "3+3"]
    assert suite.cases[0].context_params == {"instructions": "Add."}


def test_match_looks_at_the_beginning() -> None:
    assert [check["value"] for (check,) in checks(MATCH)] == [r"\A4", r"\A(?:6|six)"]


def test_includes_tells_upper_from_lower_case_unless_reported_otherwise() -> None:
    registry = REGISTRY.format("basic.includes:Includes")

    first, second = checks(registry)

    assert first == [{"type": "contains", "case_sensitive": True}]
    assert second == [{"type": "matches", "value": "(?:6|six)", "case_sensitive": True}]
    assert checks(f"{registry}    ignore_case: true\n")[0] == [{"type": "contains"}]


def test_what_a_fuzzy_match_did_next_to_is_a_loss() -> None:
    imported = read(REGISTRY.format("basic.fuzzy_match:FuzzyMatch"))

    assert '["sums.dev.v0"].class' in {loss.keys for loss in imported.losses}


def test_json_is_compared_by_value() -> None:
    samples = '{"input": "a", "ideal": "{\\"x\\": 1}"}\n{"input": "b", "ideal": ["1", "2"]}\n'

    first, second = checks(REGISTRY.format("basic.json_match:JsonMatch"), samples)

    assert first == [{"type": "json_schema", "schema": {"const": {"x": 1}}}]
    assert second == [{"type": "json_schema", "schema": {"anyOf": [{"const": 1}, {"const": 2}]}}]


GRADED = REGISTRY.format("modelgraded.classify:ModelBasedClassify") + (
    "    modelgraded_spec: quality\n    modelgraded_spec_args: {criteria: Is it kind?}\n"
)
QUALITY = """\
prompt: |-
  Task: {input}
  Answer: {completion}
  Criterion: {criteria} Write {{}} around it.
choice_strings: 'YN'
choice_scores: {"Y": 1.0, "N": 0.0}
eval_type: cot_classify
input_outputs: {input: completion}
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(QUALITY, id="as files are now"),
        pytest.param(
            "quality:\n" + "".join(f"  {line}\n" for line in QUALITY.splitlines()), id="older"
        ),
    ],
)
def test_a_prompt_with_choices_is_criteria_of_a_judge(text: str) -> None:
    (first,), (second,) = checks(GRADED, files={"modelgraded/quality.yaml": text})

    assert (first["type"], first.get("scale")) == ("llm_judge", None)  # pass or fail is usual
    assert first["criteria"].startswith("Task: system: Add.\nuser: 2+2\nAnswer: [the reply]\n")
    assert "Criterion: Is it kind? Write {} around it." in second["criteria"]
    assert "pass for Y" in second["criteria"]


def test_samples_may_be_renamed_for_the_prompt() -> None:
    registry = f"{GRADED}    samples_renamings: {{question: input}}\n"
    samples = '{"question": "Why?", "criteria": "x"}\n'

    ((check,),) = checks(registry, samples, {"modelgraded/quality.yaml": QUALITY})

    assert "Task: Why?" in check["criteria"]


def test_the_choices_of_fact_are_known() -> None:
    fact = "prompt: '{ideal} {completion}'\nchoice_strings: ABCDE\ninput_outputs: {input: completion}\n"
    registry = GRADED.replace("quality", "fact")

    (check,) = checks(registry, files={"modelgraded/fact.yaml": fact})[0]

    assert "pass for A or B or C or E" in check["criteria"]


def test_of_several_scores_the_choice_with_the_highest_passes() -> None:
    graded = QUALITY.replace("'YN'", "'123'").replace('{"Y": 1.0, "N": 0.0}', "from_strings")

    imported = read(GRADED, files={"modelgraded/quality.yaml": graded})

    assert "pass for 3" in str(dumped(imported.suites[0].spec))
    assert "highest" in " ".join(loss.message for loss in imported.losses)


@pytest.mark.parametrize(
    ("registry", "spec", "word"),
    [
        pytest.param(REGISTRY.format("my.own:Thing"), "", "`code`", id="own class"),
        (f"{GRADED}    multicomp_n: 3\n", QUALITY, "several replies"),
        pytest.param(
            GRADED, QUALITY.replace("choice_scores", "# "), "choice_scores", id="no scores"
        ),
        (GRADED, QUALITY.replace("'YN'", "from_n"), "several replies"),
        (GRADED, "prompt: []\n" + QUALITY[QUALITY.index("choice") :], "text"),
    ],
)
def test_an_eval_that_has_no_equal_here_is_lost_and_others_are_imported(
    registry: str, spec: str, word: str
) -> None:
    other = MATCH.replace("sums:", "more:").replace("sums.dev", "more.dev")

    imported = read(registry + other, files={"modelgraded/quality.yaml": spec})

    assert [suite.spec.slug for suite in imported.suites] == ["more"]
    assert word in " ".join(loss.message for loss in imported.losses)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("sums/samples", "sums/gone"), id="samples"),
        pytest.param(("class: evals", "class: my.own:Thing  # "), id="class"),
        pytest.param(("id: sums.dev.v0", "id: gone"), id="name"),
    ],
)
def test_an_eval_that_is_not_whole_does_not_keep_others_back(change: tuple[str, str]) -> None:
    beside = {"registry/data/sums/samples.jsonl": SAMPLES.encode()}
    other = MATCH.replace("sums:", "other:").replace("sums.dev", "other.dev")
    files = {"a": MATCH.replace("sums:", "more:").replace(*change), "b": other}

    imported = read_files(
        [SourceFile(f"registry/evals/{name}.yaml", text.encode()) for name, text in files.items()],
        known=KNOWN,
        find=beside.get,
        agent="desk",
    )

    assert "other" in {suite.spec.slug for suite in imported.suites}
    assert "registry/evals/a.yaml" in {loss.path for loss in imported.losses}


def test_files_that_are_named_and_not_here_are_missed() -> None:
    missing = errors(GRADED.replace("sums/samples", "sums/others"))

    keys = [problem.keys.rpartition(".")[2] for problem in missing]
    assert keys == ["samples_jsonl", "modelgraded_spec"]


def test_an_alias_of_nothing_is_lost_with_the_nearest_name() -> None:
    imported = read(MATCH.replace("id: sums.dev.v0", "id: sums.dev.v1"))

    lost = {loss.keys: loss.message for loss in imported.losses}
    assert "'sums.dev.v0'" in lost["sums.id"]
    assert [suite.spec.slug for suite in imported.suites] == ["sums-dev-v0"]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"


@pytest.mark.parametrize(
    ("registry", "samples", "key", "message"),
    [
        pytest.param(MATCH, POINTER, "samples_jsonl", "pull", id="a pointer of Git LFS"),
        (MATCH.replace("sums/samples", "''  #"), "", "samples_jsonl", "path"),
        (REGISTRY.format("my.own:Thing"), "", '["sums.dev.v0"]', "Thing"),
    ],
)
def test_a_registry_of_which_nothing_is_left_is_refused_with_the_reason(
    registry: str, samples: str, key: str, message: str
) -> None:
    (problem,) = errors(registry, samples)

    assert problem.keys.endswith(key)
    assert message in problem.message


def test_without_an_agent_one_is_asked_for() -> None:
    assert [isinstance(error, NoAgent) for error in errors(MATCH, agent=None)] == [True]


def test_samples_of_a_system_message_alone_are_sent_as_the_users() -> None:
    samples = '{"input": [{"role": "system", "content": "Add 1 and 2."}], "ideal": "3"}\n' * 2

    imported = read(MATCH, samples)

    assert {case.turns[0].user for case in imported.suites[0].spec.cases} == {"Add 1 and 2."}
    assert [loss.keys for loss in imported.losses] == ["[0].input"]


def samples_alone(rows: str) -> Imported:
    return read_files([SourceFile("sums/samples.jsonl", rows.encode())], known=KNOWN, agent="desk")


def test_samples_alone_are_to_contain_the_ideal_answer() -> None:
    imported = samples_alone(SAMPLES)

    (suite,) = [dumped(item.spec) for item in imported.suites]
    assert suite["slug"] == "sums"
    checks = [case["turns"][0]["assertions"][0]["type"] for case in suite["cases"]]
    assert checks == ["contains", "matches"]
    assert len(imported.warnings) == 1


def test_a_sample_that_cannot_be_asked_is_left_out() -> None:
    row: Json = {"input": [], "ideal": "x"}

    imported = samples_alone(f"{SAMPLES}{str(row).replace(chr(39), chr(34))}\n")

    assert len(imported.suites[0].spec.cases) == 2
    assert "[2]" in {loss.keys for loss in imported.losses}
