from collections.abc import Sequence

import pytest

from fixtures_app.ground.field_table import Field, FieldKind
from fixtures_app.ground.pasted_tables import (
    entities_of,
    guess_fields,
    read_pasted_table,
)

ORDERS = """number\tcustomer\ttotal\tordered on\tstate
1001\tAda\t40\t1.5.2026\tshipped
1002\tBen\t12,5\t02.05.2026\topen
1003\tCleo\t80\t3.5.2026\tshipped
1004\tDan\t\t4.5.2026\topen"""


def kind_of(*texts: str) -> FieldKind:
    (field,) = guess_fields(
        read_pasted_table("\n".join(["other\tfield", *(f"x\t{t}" for t in texts)]))
    )[1:]
    return field.kind


def test_a_table_becomes_fields_and_entities() -> None:
    table = read_pasted_table(ORDERS)
    fields = guess_fields(table)

    assert [(one.name, one.kind) for one in fields] == [
        ("number", FieldKind.WHOLE),
        ("customer", FieldKind.TEXT),
        ("total", FieldKind.NUMBER),
        ("ordered on", FieldKind.DATE),
        ("state", FieldKind.CHOICE),
    ]
    assert fields[-1].choices == ("shipped", "open")
    first, second, _, last = entities_of(table, "order", fields)
    assert first["ref"] == "order-1"
    assert second["data"]["total"] == 12.5
    assert second["data"]["ordered on"] == "2026-05-02"
    assert "total" not in last["data"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2"], FieldKind.WHOLE),
        (["12.50", "7.00"], FieldKind.NUMBER),
        (["0.5", "3"], FieldKind.NUMBER),
        (["007", "12"], FieldKind.TEXT),
        (["+49", "12"], FieldKind.TEXT),
        (["1.9", "1.10"], FieldKind.TEXT),
        (["1,234", "5,678"], FieldKind.TEXT),
        (["12,50", "1.234,00"], FieldKind.NUMBER),
        (["1.234,5", "7"], FieldKind.NUMBER),
        (["1,234.50", "12"], FieldKind.NUMBER),
        (["1,234.50", "1.234,50"], FieldKind.TEXT),
        (["12.34,5", "7"], FieldKind.TEXT),
        (["1.234", "12.500"], FieldKind.TEXT),
        (["1.234", "0.500"], FieldKind.NUMBER),
        (["1E5", "2"], FieldKind.TEXT),
        (["4111111111111111"], FieldKind.TEXT),
        (["yes", "no", "Yes"], FieldKind.YES_NO),
        (["2026-05-01"], FieldKind.DATE),
        (["31.2.2026"], FieldKind.TEXT),
        (["09:30", "23:59"], FieldKind.TIME),
        (["2026-05-01T09:30:00Z"], FieldKind.DATE_TIME),
        (["a", "b", "a", "b"], FieldKind.CHOICE),
        (["a", "b", "a"], FieldKind.TEXT),
        (["a", "a", "a"], FieldKind.TEXT),
        (["", ""], FieldKind.TEXT),
        (["x" * 201], FieldKind.LONG_TEXT),
        (['"two\nlines"'], FieldKind.LONG_TEXT),
    ],
)
def test_a_field_has_the_kind_of_all_its_values(texts: Sequence[str], kind: FieldKind) -> None:
    assert kind_of(*texts) is kind


def test_ids_and_statuses_are_not_fields() -> None:
    table = read_pasted_table("ID;Name;Status\no-7;Ada;archived\n;Ben;\norder-1;Cleo;\n")
    fields = guess_fields(table)
    entities = entities_of(table, "order", fields)

    assert [one.name for one in fields] == ["Name"]
    assert [entity["ref"] for entity in entities] == ["o-7", "order-2", "order-1"]
    assert [entity["status"] for entity in entities] == ["archived", "active", "active"]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('"two ""lines""\nin one"', 'two "lines"\nin one'),
        ('"in quotes"', "in quotes"),
        ('"so-called" news', '"so-called" news'),
        ('"not closed', '"not closed'),
        ('7" screen', '7" screen'),
        ('""', ""),
    ],
)
def test_quotes_enclose_a_cell_only_if_they_end_with_it(cell: str, value: str) -> None:
    table = read_pasted_table(f"a\tb\r\nx\t{cell}\r\ny\tz")

    assert table.columns == {"a": ["x", "y"], "b": [value, "z"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb", "at least one row"),
        ("a\t\tc\n1\t2\t3", "Column 2 has no heading"),
        ("a\ta\n1\t2", "Two columns have the heading “a”."),
        ("a\tb\n1\t2\t3", "Row 2 has more cells than there are headings."),
        ("a\n" + "1\n" * 1501, "1,501 rows; one page can show 1,500"),
        ("id\tRef\tx\n1\t2\t3", "“id” and “Ref” are both the id of a row"),
        ("Status\tstatus\na\tb", "“Status” and “status” are both the status of a row"),
    ],
)
def test_what_is_not_a_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_pasted_table(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("total\n1\nmany", "Row 3, total: Write a number"),
        ("total\tsize\n1\t2", "no field “size”"),
        ("id\ttotal\na\t1\na\t2", "Rows 2 and 3 have the same id, “a”."),
        ("id\ttotal\n\na\t1\n\t\na\t2", "Rows 3 and 5 have the same id, “a”."),
        ("total\n\nmany", "Row 3, total: Write a number"),
    ],
)
def test_rows_that_do_not_fit_a_type_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        entities_of(read_pasted_table(text), "order", [Field("total", FieldKind.NUMBER)])
