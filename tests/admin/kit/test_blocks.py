from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict

from evals_app.admin.kit.blocks import RecordBlocks
from evals_app.admin.kit.lines import LineColumn
from evals_app.admin.kit.value_lines import MatcherLines
from tests.page_form import posted_by

THINGS = [
    {"id": "a", "data": {"total": 5, "state": {"contains": "paid"}}},
    {"id": "b"},
    {"data": {"gone": {"present": False}}, "count": 2},
]


def make_field(**options: Any) -> RecordBlocks:
    return RecordBlocks(
        [LineColumn("id", "Id"), LineColumn("count", "How many", placeholder="1")],
        number_keys=frozenset({"count"}),
        inner_key="data",
        inner=MatcherLines(noun="Field", label="Fields"),
        **options,
    )


def read(field: RecordBlocks, posted: dict[str, list[str]]) -> Any:
    data = QueryDict(mutable=True)
    for name, values in posted.items():
        data.setlist(name, values)
    return field.clean(field.widget.value_from_datadict(data, {}, "f"))


def shown(field: RecordBlocks, value: Any) -> str:
    return str(field.widget.render("f", field.prepare_value(value)))


@pytest.mark.parametrize("value", [[], THINGS, THINGS[2:], THINGS[1:2]])
def test_blocks_are_read_as_they_were_written(value: list[Any]) -> None:
    field = make_field()

    assert read(field, posted_by(shown(field, value))) == value


def test_what_was_typed_is_shown_again_as_it_was() -> None:
    field = make_field()
    posted = posted_by(shown(field, THINGS))
    posted["f-data-value"][-1] = "[1"
    data = QueryDict(mutable=True)
    for name, values in posted.items():
        data.setlist(name, values)

    typed = field.widget.value_from_datadict(data, {}, "f")

    assert posted_by(shown(field, typed)) == posted


def test_blank_blocks_and_lines_are_left_out() -> None:
    posted = {
        "f-id": ["", "a", ""],
        "f-count": ["", "", ""],
        "f-data-key": ["begins", "", "begins", "", "x", "begins"],
        "f-data-must": ["begins", "equals", "begins", "equals", "equals", "begins"],
        "f-data-kind": ["begins", "text", "begins", "text", "number", "begins"],
        "f-data-value": ["begins", "", "begins", "", "1", "begins"],
    }

    assert read(make_field(), posted) == [{"id": "a", "data": {"x": 1}}]


def test_lines_stay_with_their_block() -> None:
    posted = {
        "f-id": ["a", "b"],
        "f-data-key": ["begins", "begins", "x"],
        "f-data-must": ["begins", "begins", "equals"],
        "f-data-kind": ["begins", "begins", "number"],
        "f-data-value": ["begins", "begins", "1"],
    }

    assert read(make_field(), posted) == [{"id": "a"}, {"id": "b", "data": {"x": 1}}]


@pytest.mark.parametrize(
    "posted",
    [
        pytest.param({"f-id": ["a"]}, id="no lines"),
        pytest.param({"f-id": ["a"], "f-data-key": ["x"]}, id="a line of no block"),
        pytest.param({"f-id": ["a"], "f-data-key": ["begins"] * 3}, id="half a beginning"),
    ],
)
def test_a_request_made_by_hand_is_read_as_far_as_it_makes_sense(
    posted: dict[str, list[str]],
) -> None:
    assert read(make_field(), posted) == [{"id": "a"}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"f-data-value": ["begins", "begins", "[1"]}, "Line 2, fields: Line 1: "),
        ({"f-data-key": ["begins", "begins", ""]}, "Line 2, fields: Line 1: field is missing."),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(
    changes: dict[str, list[str]], message: str
) -> None:
    posted = {
        "f-id": ["a", "b"],
        "f-data-key": ["begins", "begins", "x"],
        "f-data-must": ["begins", "begins", "equals"],
        "f-data-kind": ["begins", "begins", "number"],
        "f-data-value": ["begins", "begins", "1"],
    }

    with pytest.raises(ValidationError) as caught:
        read(make_field(), posted | changes)

    assert caught.value.messages[0].startswith(message)


@pytest.mark.parametrize(("opens", "blocks"), [(False, 0), (True, 1)])
def test_a_blank_block_stands_where_one_is_needed(opens: bool, blocks: int) -> None:  # noqa: FBT001 - a column
    field = make_field(opens=opens)

    assert len(posted_by(shown(field, [])).get("f-id", [])) == blocks


def test_one_that_may_be_a_name_alone_is_written_so() -> None:
    field = make_field(bare_key="id")

    assert read(field, posted_by(shown(field, ["a", THINGS[0]]))) == ["a", THINGS[0]]
