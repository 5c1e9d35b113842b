"""The pydantic-evals dialect: a dataset in YAML or JSON, with cases and evaluators."""

from evals_app.formats.dialect import Dialect, rows_under

_CASE = {"name", "inputs", "metadata", "expected_output", "evaluators"}


def _is_certain(_path: str, data: object) -> bool:
    """Whether some data is a dataset: cases with `inputs`, and something that no table has."""
    cases = rows_under(data, "cases")
    if not isinstance(data, dict) or not any("inputs" in case for case in cases):
        return False
    return (
        bool({"evaluators", "report_evaluators"} & data.keys())
        or any("evaluators" in case for case in cases)
        or (
            all(case.keys() <= _CASE for case in cases)
            and any(isinstance(case.get("expected_output"), list | dict) for case in cases)
        )
    )


DIALECT = Dialect(
    name="pydantic-evals",
    title="Pydantic Evals",
    page="coming-from-pydantic-evals",
    about="A dataset as Dataset.to_file writes it, in YAML or JSON. Its agent has to exist here.",
    sample=(
        (
            "evals/datasets/refunds.yaml",
            """\
name: refunds
cases:
  - name: Asks for a refund
    inputs: I want my money back.
    evaluators:
      - Contains: refund
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    files=("evals/datasets/*.yaml", "evals/datasets/*.yml"),
    is_certain=_is_certain,
)
