"""The HoloDeck dialect: an `agent.yaml` with an agent, its metrics and its test cases."""

from evals_app.formats.dialect import Dialect

_KEYS = {"test_cases", "test_cases_file", "instructions"}


def _is_likely(_path: str, data: object) -> bool:
    if not isinstance(data, dict):
        return False
    evaluations = data.get("evaluations")
    has_metrics = isinstance(evaluations, dict) and "metrics" in evaluations
    return has_metrics or bool(_KEYS & data.keys())


DIALECT = Dialect(
    name="holodeck",
    title="HoloDeck",
    page="coming-from-holodeck",
    about="agent.yaml with what it names: instructions, a file of test cases, documents.",
    sample=(
        (
            "agent.yaml",
            """\
name: shop
model: {provider: anthropic, name: claude-haiku-5-5}
instructions:
  inline: You answer questions about orders.
evaluations:
  metrics:
    - {type: geval, name: Helpful, criteria: The reply helps the customer., threshold: 0.7}
test_cases:
  - name: Asks for a refund
    input: I want my money back.
""",
        ),
    ),
    package=__name__,
    files=("agent.yaml", "agent.yml"),
    is_likely=_is_likely,
)
