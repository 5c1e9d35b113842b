"""The Agentura dialect: `agentura.yaml`, datasets as JSON Lines, rubrics as Markdown."""

from evals_app.formats.dialect import Dialect, rows_under

_TYPES = ("golden_dataset", "llm_judge", "performance", "tool_use")


def _is_likely(_path: str, data: object) -> bool:
    return any(row.get("type") in _TYPES for row in rows_under(data, "evals"))


DIALECT = Dialect(
    name="agentura",
    title="Agentura",
    page="coming-from-agentura",
    about=(
        "agentura.yaml with the datasets (.jsonl) and rubrics (.md) that it names: all of them "
        "together, or the folder as a .zip."
    ),
    sample=(
        (
            "agentura.yaml",
            """\
version: 1
agent:
  type: http
  endpoint: https://agent.example.com/invoke
evals:
  - name: accuracy
    type: golden_dataset
    dataset: ./accuracy.jsonl
    scorer: contains
    threshold: 0.8
""",
        ),
        ("accuracy.jsonl", '{"input": "I want my money back.", "expected": "refund"}\n'),
    ),
    package=__name__,
    files=("agentura.yaml", "agentura.yml"),
    is_likely=_is_likely,
)
