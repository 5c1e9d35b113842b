"""Anything anywhere in the files: read, or refused with its place."""

import json
from typing import Any

from hypothesis import given

from evals_app.formats import FormatError, Problem, SourceFile, fitting, read_files
from tests.formats.anywhere import changed
from tests.formats.openai_evals.saved import KNOWN, RIGHT, a_run, an_eval
from tests.formats.openai_evals.test_criteria import asking, similarity
from tests.formats.openai_evals.test_hosted import result
from tests.formats.openai_evals.test_registry import QUALITY

WHOLE: Any = {
    "eval": an_eval(
        RIGHT,
        similarity("rouge_l"),
        asking("score_model", range=[0, 5], pass_threshold=4, sampling_params={"temperature": 0}),
        asking("label_model", labels=["a", "b"], passing_labels=["a"]),
        {"type": "python", "name": "x", "source": "y"},
    ),
    "runs": [
        a_run(
            {"id": "a", "ticket": "x", "label": "y"},
            template=[
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [{"type": "input_text", "text": "{{item.ticket}}"}]},
            ],
            created_at=4,
            sampling_params={
                "temperature": 1,
                "tools": [{"type": "function", "function": {"name": "f"}}],
            },
        )
    ],
}
RESULTS: Any = {
    "object": "list",
    "has_more": False,
    "data": [result(1, sample={"input": [{"role": "user", "content": "Hi"}]}, created_at=3)],
}
REGISTRY: Any = {
    "sums": {"id": "sums.v0", "description": "Adds."},
    "sums.v0": {"class": "evals.x:Match", "args": {"samples_jsonl": "s.jsonl"}},
    "kind.v0": {
        "class": "evals.x:ModelBasedClassify",
        "args": {
            "samples_jsonl": "s.jsonl",
            "modelgraded_spec": "q",
            "modelgraded_spec_args": {"criteria": "x"},
            "samples_renamings": {"a": "b"},
        },
    },
}
SAMPLES: Any = [
    {
        "input": [{"role": "system", "content": "Add."}, {"role": "user", "content": "2"}],
        "ideal": "4",
    },
    {"input": "3+3", "ideal": ["6", "six"], "id": "b"},
]
BESIDE = {
    "registry/data/s.jsonl": b'{"input": "3+3", "ideal": "6"}\n',
    "registry/modelgraded/q.yaml": QUALITY.encode(),
}


def told(path: str, content: str, files: dict[str, bytes] = BESIDE) -> list[Problem]:
    """Read a file; give what is said of it, and an error if nothing was read."""
    source = SourceFile(path, content.encode())
    try:
        found = read_files(
            [source],
            known=KNOWN,
            agent="desk",
            find=files.get,
            find_paths=lambda pattern: fitting(pattern, files),
            dialect="openai-evals",
        )
    except FormatError as error:
        return error.problems
    return [*found.warnings, *found.losses]


def check(path: str, content: str) -> None:
    for each in told(path, content):
        assert each.message.strip()
        assert each.path in (path, *BESIDE)
        assert each.line > 0


@given(data=changed(WHOLE))
def test_objects_of_the_api(data: Any) -> None:
    check("eval_x.json", json.dumps(data))


@given(data=changed({**WHOLE, "runs": [], "output_items": RESULTS}))
def test_results(data: Any) -> None:
    check("eval_x.json", json.dumps(data))


@given(data=changed(REGISTRY))
def test_the_registry(data: Any) -> None:
    path = "registry/evals/x.yaml"

    check(path, json.dumps(data))


@given(data=changed(SAMPLES))
def test_samples(data: Any) -> None:
    rows = "\n".join(map(json.dumps, data)) if isinstance(data, list) else json.dumps(data)

    check("samples.jsonl", rows)


@given(
    data=changed(
        json.loads(
            json.dumps(
                {"prompt": "{input}", "choice_strings": "YN", "choice_scores": {"Y": 1, "N": 0}}
            )
        )
    )
)
def test_prompts(data: Any) -> None:
    files = {**BESIDE, "registry/modelgraded/q.yaml": json.dumps(data).encode()}

    found = told("registry/evals/x.yaml", json.dumps(REGISTRY), files)

    assert all(each.message.strip() and each.line > 0 for each in found)
