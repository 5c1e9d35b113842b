"""The promptfoo dialect: a `promptfooconfig.yaml` with prompts, providers and tests."""

from evals_app.formats.dialect import Dialect, rows_under

_ASKED = {"providers", "targets", "tests", "scenarios"}
_OF_TESTS = {"vars", "assert"}
_FILES = (".yaml", ".yml", ".json", ".jsonl", ".csv")


def _is_certain(_path: str, data: object) -> bool:
    """Whether some data is a list of tests; those of AgentV have an id."""
    rows = data if isinstance(data, list) else []
    return any(isinstance(row, dict) and row.keys() >= _OF_TESTS for row in rows[:10]) and not any(
        isinstance(row, dict) and "id" in row for row in rows[:10]
    )


def _is_likely(_path: str, data: object) -> bool:
    """Whether some data is a configuration: other tools have tests, scenarios and prompts, too."""
    if not isinstance(data, dict):
        return False
    return (
        "defaultTest" in data
        or ("prompts" in data and not _ASKED.isdisjoint(data))
        or any(_OF_TESTS & row.keys() for row in rows_under(data, "tests"))
        or any("config" in row for row in rows_under(data, "scenarios"))
        or any(_names_file(data[key]) for key in ("tests", "scenarios") if key in data)
    )


def _names_file(written: object) -> bool:
    entries = written if isinstance(written, list) else [written]
    return any(isinstance(entry, str) and entry.endswith(_FILES) for entry in entries)


DIALECT = Dialect(
    name="promptfoo",
    title="promptfoo",
    page="coming-from-promptfoo",
    about="promptfooconfig.yaml with the files that it names.",
    sample=(
        (
            "promptfooconfig.yaml",
            """\
prompts: ["Answer the customer: {{question}}"]
providers: [anthropic:messages:claude-haiku-5-5]
tests:
  - vars: {question: I want my money back.}
    assert:
      - {type: icontains, value: refund}
""",
        ),
    ),
    package=__name__,
    files=("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json"),
    is_certain=_is_certain,
    is_likely=_is_likely,
)
