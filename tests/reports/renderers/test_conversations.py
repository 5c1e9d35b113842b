from evals_app.reports.renderers.conversations import MAX_JSON, json_text


def test_json_is_indented_and_a_text_stands_as_it_is() -> None:
    assert json_text({"näme": [1]}) == '{\n  "näme": [\n    1\n  ]\n}'
    assert json_text("as\nwritten") == "as\nwritten"


def test_long_json_is_cut_and_says_so() -> None:
    shown = json_text("x" * (MAX_JSON + 7))

    assert shown.endswith("\n… 7 more characters")
