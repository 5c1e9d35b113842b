from pathlib import Path

import pytest

from evals_app.formats.promptfoo.checks import CHECKS, LOST

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "coming-from-promptfoo.md").read_text()
# Told by the name of one of their kind.
OF_A_KIND = {
    **dict.fromkeys(["is-valid-function-call", "is-valid-openai-function-call"], "is-valid-openai-tools-call"),
    **dict.fromkeys(["trace-error-spans", "trace-span-duration"], "trace-span-count"),
    **dict.fromkeys(["contains-xml"], "is-xml"),
    **dict.fromkeys(["contains-html"], "is-html"),
    **dict.fromkeys(["contains-sql"], "is-sql"),
    **dict.fromkeys(["research-rubric", "video-rubric"], "search-rubric"),
    **dict.fromkeys(["perplexity-score"], "perplexity"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHECKS)
def test_every_assertion_with_an_equal_is_documented(kind: str) -> None:
    table = PAGE[PAGE.index("## Assertions") : PAGE.index("## What differs")]

    assert f"`{kind}`" in table


@pytest.mark.parametrize("kind", LOST)
def test_every_assertion_without_an_equal_has_a_sentence_that_says_what_to_do(kind: str) -> None:
    assert LOST[kind].endswith(".")
    assert kind not in CHECKS


@pytest.mark.parametrize(
    "kind",
    sorted(set(LOST) - {"bertscore", "citation-faithfulness", "conversation-relevance", "human", "noise-sensitivity"}),
)  # fmt: skip
def test_every_lost_assertion_of_the_documentation_is_in_the_table_of_losses(kind: str) -> None:
    table = PAGE[PAGE.index("## What is lost") :]

    assert f"`{OF_A_KIND.get(kind, kind)}`" in table
