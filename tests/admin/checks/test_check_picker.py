from collections import Counter

from evals_app.admin.checks.check_picker import USUAL, KindInput, kind_choices, kinds_to_pick
from evals_app.engine.graders import GRADERS


def test_every_kind_is_offered_once_and_the_usual_ones_first() -> None:
    offered = [reference.kind for _, references in kinds_to_pick() for reference in references]

    assert Counter(offered) == Counter(list(GRADERS))
    assert offered[: len(USUAL)] == list(USUAL)


def test_every_kind_can_be_chosen_in_its_group() -> None:
    groups = kind_choices()[1:]

    assert {kind for _, kinds in groups for kind, _ in kinds} == set(GRADERS)
    assert ("numeric", "Reply gives a number") in dict(groups)["Numbers"]


def test_the_button_shows_the_chosen_kind_escaped_and_names_itself() -> None:
    choices = [("", "Choose"), ("Texts", [("a", "Has <b>"), ("b", "Has not")])]
    widget = KindInput()
    widget.choices = choices

    shown = widget.render("type", "a", {"id": "id_type"})

    button = shown.partition("<button")[2]
    assert "Has &lt;b&gt;" in button
    assert "Has not" not in button
    assert 'id="id_type_pick" aria-labelledby="id_type_pick_name"' in button
