import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.judging.text.segments import segments


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" \n\t ", [], id="blank"),
        pytest.param("Hello", ["Hello"], id="no sign at the end"),
        pytest.param("One. Two! Three?", ["One.", "Two!", "Three?"], id="sentences"),
        ("Costs 3.50 at example.org.", ["Costs 3.50 at example.org."]),
        pytest.param("Really?! Yes...", ["Really?!", "Yes..."], id="several signs"),
        ('He said "no." Then (he left.) Done', ['He said "no."', "Then (he left.)", "Done"]),
        pytest.param(
            "一つ。二つ\uff01三つ\uff1f", ["一つ。", "二つ\uff01", "三つ\uff1f"], id="no spaces"
        ),
        ("One line\nof two. And\nmore", ["One line of two.", "And more"]),
        pytest.param("One\n\nTwo", ["One", "Two"], id="paragraphs"),
        pytest.param(
            "We have:\n- Tea. Green.\n* Milk\n  and sugar\n+ Ice\n\u2022 Rum\n1. Cups\n2) Spoons",
            [
                *("We have:", "- Tea. Green.", "* Milk and sugar", "+ Ice", "\u2022 Rum"),
                *("1. Cups", "2) Spoons"),
            ],
            id="list items are whole",
        ),
        pytest.param("- a\n\nThen. So", ["- a", "Then.", "So"], id="a blank line ends an item"),
        pytest.param(
            "Run:\n```sh\nls. -l\n\n# x\n```\nDone.",
            ["Run:", "```sh\nls. -l\n\n# x\n```", "Done."],
            id="a code block is whole",
        ),
        pytest.param("~~~\na. b\n```\nc", ["~~~\na. b\n```\nc"], id="an open code block"),
        pytest.param(
            "# Title\nText. More\n| a | b |\n|---|---|\n| 1. x | 2 |",
            ["# Title", "Text.", "More", "| a | b |", "| 1. x | 2 |"],
            id="headings and rows",
        ),
        pytest.param("One.\n\n---\n\n***\n\nTwo.", ["One.", "Two."], id="a rule is none"),
        pytest.param("\U0001f44d", ["\U0001f44d"], id="signs alone are one segment"),
        pytest.param("2024 was good. 3 of 4.", ["2024 was good.", "3 of 4."], id="no list"),
        pytest.param("-5 degrees. *Bold* too.", ["-5 degrees.", "*Bold* too."], id="no item"),
        pytest.param("a\r\n- b\r\n", ["a", "- b"], id="line ends of Windows"),
    ],
)
def test_a_text_falls_into_segments(text: str, pieces: list[str]) -> None:
    assert segments(text) == pieces


@given(st.text())
def test_no_letter_is_lost_and_no_segment_is_blank(text: str) -> None:
    pieces = segments(text)

    assert all(segment.strip() for segment in pieces)
    letters = [character for character in text if character.isalnum()]
    assert [c for segment in pieces for c in segment if c.isalnum()] == letters


@pytest.mark.parametrize("piece", ["- a\n", "a. ", "a\n", "```\n", "|", '."', "a) ", ".", "?!"])
def test_a_long_text_is_cut_in_linear_time(piece: str) -> None:
    begun = time.process_time()

    segments(piece * (400_000 // len(piece)))

    assert time.process_time() - begun < 20  # of the processor; alone, less than one
