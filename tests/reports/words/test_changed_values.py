import pytest

from evals_app.reports.words.changed_values import place_words


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        pytest.param("trials", "trials", id="a setting"),
        pytest.param("min_pass_rate", "min pass rate", id="a setting of several words"),
        pytest.param("cases.France", "case “France”", id="a case"),
        pytest.param(
            'cases["Who\'s there?"].turns[0].expected',
            "case “Who's there?”, turn 1, expected answer",
            id="an answer",
        ),
        ("cases[2].turns[1].assertions[0].value", "case 3, turn 2, check 1, value"),
        pytest.param('cases["a.b [1] \\"c\\""].tags[0]', 'case “a.b [1] "c"”, tags, 1', id="signs"),
        pytest.param("cases.cases.user", "case “cases”, message", id="a name like a key"),
        pytest.param("cases", "cases", id="a list as a whole"),
    ],
)
def test_a_place_is_explained(keys: str, words: str) -> None:
    assert place_words(keys) == words
