"""The promptfoo dialect: a `promptfooconfig.yaml` with prompts, providers and tests."""

from evals_app.formats.dialect import Dialect

_KEYS = {"prompts", "tests", "scenarios", "defaultTest"}


def _is_likely(_path: str, data: object) -> bool:
    return isinstance(data, dict) and bool(_KEYS & data.keys())


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
    is_likely=_is_likely,
)
