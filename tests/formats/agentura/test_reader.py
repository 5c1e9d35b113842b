import re

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from tests.formats.agentura.projects import (
    ACCURACY,
    AGENT,
    CONVERSATION,
    DATASETS,
    QUALITY,
    RUBRIC,
    SPEED,
    TOOL_ROUTING,
    problems,
    read,
    suite,
    written,
)


def test_a_golden_dataset_compares_each_reply_with_what_is_expected() -> None:
    assert written(ACCURACY) == {
        "suite": "accuracy",
        "slug": "support-accuracy",
        "agent": "support",
        "pass_rule": "score",
        "run_rule": "gates",
        "assertions": [{"type": "fuzzy_match", "threshold": 0.8}],
        "gates": {"min_score": 0.8},
        "cases": [
            {"name": "row-0001", "turns": [{"user": "what is 2+2", "expected": "4"}]},
            {
                "name": "row-0002",
                "turns": [{"user": "what is the capital of France", "expected": "Paris"}],
            },
        ],
    }
    assert suite(ACCURACY).pass_threshold == 0.8


@pytest.mark.parametrize(
    ("scorer", "threshold"),
    [
        ("exact_match", {}),
        ("contains", {}),
        ("fuzzy_match", {"threshold": 0.8}),
        ("semantic_similarity", {"threshold": 0.8}),
    ],
)
def test_every_scorer_becomes_the_check_of_its_name(
    scorer: str, threshold: dict[str, float]
) -> None:
    config = ACCURACY.replace("fuzzy_match", scorer)

    assert written(config)["assertions"] == [{"type": scorer, **threshold}]


def test_without_scorer_and_threshold_replies_are_exact_and_eight_in_ten_must_be_right() -> None:
    spec = suite("- {name: a, type: golden_dataset, dataset: evals/accuracy.jsonl}")

    assert [assertion.type for assertion in spec.assertions] == ["exact_match"]
    assert (spec.pass_threshold, spec.gates.min_score) == (0.8, 0.8)


def test_a_rubric_is_what_a_judge_scores_by_from_0_to_1() -> None:
    data = written(QUALITY)

    assert data["assertions"] == [
        {"type": "llm_judge", "criteria": RUBRIC, "scale": "0-1", "threshold": 0.7}
    ]
    assert (data["pass_threshold"], data["gates"]) == (0.7, {"min_score": 0.7})
    assert "judge_model" not in data


def test_a_judge_may_be_named_and_asked_more_than_once() -> None:
    spec = suite(QUALITY + "  judge_model: claude-3-5-haiku-20241022\n  runs: 3\n")

    assert str(spec.judge_model) == "anthropic/claude-3-5-haiku-20241022"
    assert getattr(spec.assertions[0].grader, "votes", None) == 3


def test_performance_checks_every_question_and_the_whole_run() -> None:
    data = written(SPEED)

    assert data["assertions"] == [
        {"type": "latency", "max_ms": 3000},
        {"type": "cost", "max_usd": 0.01},
    ]
    assert data["gates"] == {"min_score": 0.8, "max_p95_ms": 3000, "max_cost_per_call_usd": 0.01}
    assert (data["pass_rule"], data["run_rule"]) == ("score", "gates")


def test_performance_without_a_threshold_has_the_gates_of_time_and_cost_alone() -> None:
    config = SPEED.replace("  threshold: 0.8\n", "").replace("max_p95_ms", "latency_threshold_ms")

    spec = suite(config)

    assert spec.model_dump(exclude_none=True)["gates"] == {
        "max_p95_ms": 3000,
        "max_cost_per_call_usd": 0.01,
    }
    assert not spec.passes_by_score  # nobody wrote a score, so none is needed


def test_entries_may_share_a_dataset_and_each_becomes_a_suite() -> None:
    config = "version: 1\nevals:\n" + ACCURACY + SPEED + QUALITY + TOOL_ROUTING + CONVERSATION

    suites = read(config).suites

    assert [(item.spec.slug, item.line) for item in suites] == [
        ("support-accuracy", 3),
        ("support-speed", 8),
        ("support-quality", 14),
        ("support-tool-routing", 19),
        ("support-conversation", 23),
    ]


def test_a_name_without_latin_letters_gives_a_slug_by_its_place() -> None:
    config = ACCURACY + ACCURACY.replace("accuracy\n", "正確さ\n", 1)

    assert [item.spec.slug for item in read(config).suites] == [
        "support-accuracy",
        "support-eval-2",
    ]


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("/home/me/Help Desk", "agentura.yaml"),
        ("/home/me/Help Desk/evals", "../agentura.yaml"),
        ("/home/me", "Help Desk/agentura.yaml"),
    ],
)
def test_slugs_are_the_same_wherever_the_import_began(root: str, path: str) -> None:
    source = SourceFile(path, f"evals:\n{ACCURACY}{AGENT}".encode())
    dataset = DATASETS["evals/accuracy.jsonl"].encode()

    imported = read_files(
        [source], find=lambda path: None if path.endswith(".evalwell.yaml") else dataset, root=root
    )

    assert [item.spec.slug for item in imported.suites] == ["help-desk-accuracy"]


def test_long_names_give_a_slug_that_is_not_too_long() -> None:
    source = SourceFile(
        f"{'f' * 60}/agentura.yaml", ACCURACY.replace("accuracy", "n" * 70, 1).encode()
    )
    dataset = DATASETS["evals/accuracy.jsonl"].encode()

    imported = read_files(
        [source],
        known=ExistingObjects(agents={"f" * 60: ""}),
        find=lambda path: None if path.endswith(".evalwell.yaml") else dataset,
    )

    slug = imported.suites[0].spec.slug
    assert (len(slug), slug[:61]) == (100, f"{'f' * 60}-")


@pytest.mark.parametrize(
    ("config", "line", "keys", "message"),
    [
        ("evals: []", 1, "evals", "entry"),
        ("version: 1", 1, "", "`evals`"),
        ("evals: 3", 1, "evals", "list"),
        ("[3]", 1, "[0]", "keys"),
        ("evals: [{type: {}}]", 1, "evals[0].type", "Unknown type"),
        ("version: 2\nevals:\n" + ACCURACY, 1, "version", "1"),
        ("agent:\ntype: cli\nevals:\n" + ACCURACY, 2, "type", "indent"),
        ("- type: golden_dataset\nname: a\n", 2, "", "two spaces"),
        ("- {type: consensus, name: a}\n", 1, "", "no suite"),
        ("- {name: s, type: performance, dataset: evals/tools.jsonl}", 1, "[0]", "max_p95_ms"),
        (SPEED + "  latency_threshold_ms: 3000\n", 1, "[0]", "name"),
        (QUALITY + "  judge_model: llama-3.1-8b-instant\n", 6, "[0].judge_model", "provider/model"),
        (QUALITY + "  runs: 0\n", 6, "[0].runs", "greater"),
        (ACCURACY + ACCURACY, 6, "[1].name", "agentura.yaml:1"),
    ],
)
def test_an_error_is_reported_at_its_key(config: str, line: int, keys: str, message: str) -> None:
    (problem,) = problems(config)

    assert (problem.path, problem.line, problem.keys) == ("agentura.yaml", line, keys)
    assert message in problem.message


@pytest.mark.parametrize(
    ("key", "value", "line", "message"),
    [
        ("type", "golden", 2, "'golden_dataset'"),
        ("scorer", "fuzzy", 4, "'fuzzy_match'"),
        ("threshold", "80", 5, "0.8"),
        ("threshold", '"0.8"', 5, "remove"),
        ("dataset", "./evals/acuracy.jsonl", 3, "evals/acuracy.jsonl"),
        ("dataset", "../evals/accuracy.jsonl", 3, "folder"),
        ("dataset", r'"evals\accuracy.jsonl"', 3, "backslash"),
    ],
)
def test_a_wrong_value_is_reported_at_its_key(
    key: str, value: str, line: int, message: str
) -> None:
    (problem,) = problems(re.sub(rf"(?m)^  {key}: .*", lambda _: f"  {key}: {value}", ACCURACY))

    assert (problem.line, problem.keys) == (line, f"[0].{key}")
    assert message in problem.message


@pytest.mark.parametrize(
    ("config", "keys", "meant"),
    [
        ("eval:\n" + ACCURACY, "eval", "'evals'"),
        (ACCURACY.replace("dataset:", "datset:"), "[0].datset", "'dataset'"),
    ],
)
def test_a_misspelt_key_that_is_needed_is_an_error(config: str, keys: str, meant: str) -> None:
    (message,) = [problem.message for problem in problems(config) if problem.keys == keys]

    assert meant in message


def test_a_rubric_that_is_not_there_and_an_empty_file_are_errors() -> None:
    missing = problems(QUALITY.replace("rubric.md", "rubrik.md"))
    empty = problems(ACCURACY + QUALITY, dict.fromkeys(DATASETS, "\n"))

    assert [(problem.line, problem.keys) for problem in missing] == [(4, "[0].rubric")]
    assert "evals/quality-rubrik.md" in missing[0].message
    assert [(problem.path, problem.keys) for problem in empty] == [
        ("agentura.yaml", "[1].rubric"),
        ("evals/accuracy.jsonl", ""),
        ("evals/quality.jsonl", ""),
    ]


def test_all_errors_of_all_files_come_in_one_go() -> None:
    config = (
        f"evals:\n{ACCURACY.replace('fuzzy_match', 'fuzzy')}{QUALITY.replace('0.7', '7')}"
        "agent: {type: htp}\n"
    )
    beside = {"evals/accuracy.jsonl": '{"inputt": "x"}\n', "evals/quality-rubric.md": " "}

    errors = problems(config, beside, agent=None)

    assert [(item.path, item.line, item.keys) for item in errors] == [
        ("agentura.yaml", 5, "evals[0].scorer"),
        ("agentura.yaml", 10, "evals[1].rubric"),
        ("agentura.yaml", 11, "evals[1].threshold"),
        ("agentura.yaml", 12, "agent.type"),
        ("evals/accuracy.jsonl", 1, "[0]"),
    ]


def test_what_has_no_place_here_is_a_loss_with_its_reason() -> None:
    config = f"""\
version: 1
evals:
{ACCURACY}  confidence_policy: heuristic_v1
ci: {{compare_to: main, post_comment: true}}
contracts: []
consensus: {{}}
drift: {{}}
"""

    imported = read(config)

    assert [(loss.line, loss.keys) for loss in imported.losses] == [
        (8, "evals[0].confidence_policy"),
        (9, "ci.compare_to"),
        (9, "ci.post_comment"),
        (10, "contracts"),
        (11, "consensus"),
        (12, "drift"),
    ]
    assert all("eft out" in loss.message for loss in imported.losses)


@pytest.mark.parametrize(
    ("ci", "drop"),
    [
        pytest.param("{block_on_regression: true, regression_threshold: 0.1}", 0.1, id="written"),
        pytest.param("{block_on_regression: true}", 0.05, id="as usual there"),
        pytest.param("{block_on_regression: false, regression_threshold: 0.1}", None, id="off"),
        pytest.param("{block_on_regression: true, regression_threshold: 1}", None, id="any fall"),
        pytest.param("{}", None, id="empty"),
        pytest.param("null", None, id="nothing"),
    ],
)
def test_a_blocked_regression_is_a_gate_on_the_fall_of_the_score(
    ci: str, drop: float | None
) -> None:
    imported = read(f"version: 1\nevals:\n{ACCURACY}{SPEED}ci: {ci}\n")

    assert [item.spec.gates.max_score_drop for item in imported.suites] == [drop, drop]
    assert not imported.losses
    warned = [item.keys for item in imported.warnings]
    assert ("ci.block_on_regression" in warned) is (drop is not None)


@pytest.mark.parametrize(
    ("ci", "keys"),
    [
        pytest.param("{block_on_regression: 1}", "ci.block_on_regression", id="a number"),
        pytest.param("{regression_threshold: 5}", "ci.regression_threshold", id="percent"),
        pytest.param("yes please", "ci", id="a text"),
    ],
)
def test_what_is_wrong_with_ci_is_an_error(ci: str, keys: str) -> None:
    found = problems(f"version: 1\nevals:\n{ACCURACY}ci: {ci}\n")

    assert [item.keys for item in found] == [keys]


def test_what_agentura_overlooks_is_left_out_and_named() -> None:
    config = """\
defaults: &defaults
  threshold: 0.7
owner: me
evals:
  - <<: *defaults
    name: shared
    type: golden_dataset
    dataset: evals/accuracy.jsonl
    treshold: 0.5
"""

    imported = read(config)

    assert imported.suites[0].spec.pass_threshold == 0.7
    assert [loss.keys for loss in imported.losses] == ["defaults", "owner", "evals[0].treshold"]
    assert "'threshold'" in imported.losses[2].message


def test_an_entry_of_a_type_that_is_not_here_is_left_out_alone() -> None:
    imported = read(f"- {{type: consensus, name: vote, models: [a, b]}}\n{ACCURACY}")

    assert [item.spec.slug for item in imported.suites] == ["support-accuracy"]
    assert [loss.keys for loss in imported.losses] == ["[0].type"]


@pytest.mark.parametrize(("runs", "votes"), [(2, 3), (4, 5), (10, 5)])
def test_a_judge_is_asked_an_odd_number_of_times_and_it_is_reported(runs: int, votes: int) -> None:
    imported = read(f"{QUALITY}  runs: {runs}\n")

    assert getattr(imported.suites[0].spec.assertions[0].grader, "votes") == votes  # noqa: B009
    assert [loss.keys for loss in imported.losses] == ["[0].runs"]


def test_suites_are_named_after_their_project() -> None:
    assert read(ACCURACY, folder="help-desk/").suites[0].spec.suite == "help-desk - accuracy"
