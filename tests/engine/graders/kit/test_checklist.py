import pytest

from evals_app.engine.graders.kit.checklist import Checklist, read_checklist
from evals_app.engine.record.aids import ChecklistItem

# As in the guide of the product that these rubrics come from.
GUIDE = """\
<!-- follows-instructions.rubric.md -->
# Instruction Following

## Direct Compliance
- Agent addresses the specific request, not a tangential topic
- Exact count requested is respected (no more, no fewer)

## Tone
- Professional and helpful
"""


def texts(markdown: str) -> list[str]:
    return [item.text for item in read_checklist(markdown).items]


def test_bullets_become_items_under_their_headings() -> None:
    title = "# Instruction Following"
    compliance = (title, "## Direct Compliance")

    assert read_checklist(GUIDE) == Checklist(
        (
            ChecklistItem(
                1, "Agent addresses the specific request, not a tangential topic", compliance
            ),
            ChecklistItem(2, "Exact count requested is respected (no more, no fewer)", compliance),
            ChecklistItem(3, "Professional and helpful", (title, "## Tone")),
        )
    )


@pytest.mark.parametrize(
    ("markdown", "items"),
    [
        pytest.param("- a\n* b\n+ c\n\u2022 d\n1. e\n2) f", list("abcdef"), id="every marker"),
        pytest.param("- [ ] a\n- [x] b", ["a", "b"], id="boxes to tick"),
        pytest.param("  - a\n  - b\n- c", ["a", "b", "c"], id="indented by a little"),
        pytest.param("\t- a\n\t- b", ["a", "b"], id="by a tab"),
        pytest.param("- a\n  - b\n    - c\n- d", ["a\n  - b\n    - c", "d"], id="nested"),
        pytest.param("1. a\n   - b\n2. c", ["a\n   - b", "c"], id="nested under a number"),
        pytest.param("- a\n  goes on\n- b", ["a\n  goes on", "b"], id="a line goes on"),
        pytest.param("- a\ngoes on\n- b", ["a\ngoes on", "b"], id="without being indented"),
        pytest.param("- a\n\n  goes on\n- b", ["a\n  goes on", "b"], id="in a second paragraph"),
        pytest.param("- a\n\nA remark.\n- b", ["a", "b"], id="a remark is no part of it"),
        pytest.param("- a\n```\n- b\n```\n- c", ["a\n```\n- b\n```", "c"], id="code"),
        pytest.param("```\n- a\n```\n- b", ["b"], id="code is no bullet"),
        pytest.param("- a\n\n---\n\n***\n- - -\n- b", ["a", "b"], id="rulers"),
        pytest.param("- a\r\n- b\r\n", ["a", "b"], id="lines as on Windows"),
        pytest.param("- a <!-- not yet:\n- b\n--> still a\n- c", ["a  still a", "c"], id="comment"),
        pytest.param("- a <!-- b\n- c", ["a <!-- b", "c"], id="a comment without an end"),
        pytest.param("-5 degrees\n*bold*\n1.5 times\n-", [], id="no bullets"),
        pytest.param("Is polite.", [], id="prose"),
        pytest.param("", [], id="nothing"),
        pytest.param("- ", [], id="an empty bullet"),
    ],
)
def test_top_level_bullets_are_the_items(markdown: str, items: list[str]) -> None:
    assert texts(markdown) == items


@pytest.mark.parametrize(
    ("markdown", "items"),
    [
        pytest.param("- 1.0: all\n- 0.5: half\n- 0.0: none", 0, id="scores"),
        pytest.param("- Score 1.0 if correct\n- Score 0 if not", 0, id="as sentences"),
        pytest.param("- 1 \u2014 good\n- 0 \u2013 bad", 0, id="with dashes"),
        pytest.param("- **1.0**: all\n- **0.5:** half\n- `0` if not", 0, id="in bold or as code"),
        pytest.param("- 0.8 to 1.0: good\n- 0-0.7: poor", 0, id="ranges"),
        pytest.param("- 1.0: all\n- Is polite", 2, id="not all of them"),
        pytest.param("- **1** apology\n- 0 to ten links", 2, id="counts in bold"),
        pytest.param("- 10 items are listed", 1, id="another number"),
        pytest.param("- 0.5 litres are named", 1, id="a quantity"),
        pytest.param("- 1 apology at most", 1, id="a count"),
    ],
)
def test_bullets_that_say_what_scores_mean_are_no_items(markdown: str, items: int) -> None:
    assert len(texts(markdown)) == items


def test_remarks_stand_above_what_they_are_about() -> None:
    checklist = read_checklist(
        "Be fair.\n# A\nOf A.\n- a\n\nOf the rest.\n\n- b\n## B\n- c\n# C\n- d\n\nTypos are fine.\n"
    )

    above = {item.text: item.under for item in checklist.items}
    assert above == {
        "a": ("Be fair.", "# A", "Of A."),
        "b": ("Be fair.", "# A", "Of A.", "Of the rest."),
        "c": ("Be fair.", "# A", "Of A.", "Of the rest.", "## B"),
        "d": ("Be fair.", "# C"),
    }
    assert checklist.remarks == ("Typos are fine.",)


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("# " + " " * 50_000 + "x", id="spaces"),
        pytest.param("<!--" * 12_000, id="comments without an end"),
        pytest.param("- " * 25_000, id="markers"),
        pytest.param("-" * 50_000 + "x", id="nearly a ruler"),
        pytest.param("- - " * 10_000 + "x", id="nearly a ruler of many"),
        pytest.param(" " * 50_000 + "- a", id="indented"),
    ],
)
def test_reading_takes_no_time_whatever_is_written(markdown: str) -> None:
    read_checklist(markdown)
