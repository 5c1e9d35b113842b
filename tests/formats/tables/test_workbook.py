import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from evals_app.formats.reading.problems import FormatError
from evals_app.formats.tables import workbook
from evals_app.formats.tables.table import Table
from evals_app.formats.tables.workbook import read_xlsx
from evals_app.formats.tables.workbook_writing import write_workbook

# What a spreadsheet program stores for `=1/0`, `=""` and `="a"&"b"`, and what nobody calculated.
FORMULAS = """\
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">
<c r="A1" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="B1" t="str"><f>""</f><v></v></c>
<c r="C1" t="str"><f>"a"&amp;"b"</f><v>ab</v></c><c r="D1"><f>1+1</f><v></v></c>
<c r="E1"><f>1+1</f><v>2</v></c></row></sheetData></worksheet>"""


def saved(book: Workbook) -> bytes:
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def book_with(fill: Callable[[Worksheet], Any]) -> bytes:
    book = Workbook()
    sheet = book.worksheets[0]
    fill(sheet)
    return saved(book)


def with_part(name: str, part: str | bytes, content: bytes | None = None) -> bytes:
    """Return a workbook, of which one part is replaced or added."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content or saved(Workbook()))) as parts,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for item in dict.fromkeys([*parts.namelist(), name]):
            archive.writestr(item, part if item == name else parts.read(item))
    return written.getvalue()


def problem(content: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read_xlsx("a.xlsx", content)
    (refusal,) = caught.value.problems
    assert refusal.path == "a.xlsx"
    return refusal.message


def rows(table: Table) -> Any:
    return table.data["Sheet"]


def test_cells_are_read_as_a_person_sees_them() -> None:
    def fill(sheet: Worksheet) -> None:
        sheet.append(["text", 3, 2.5, True, None, "line\nbreak", "_x0041_x000D_\n"])
        sheet["B1"].number_format = "0.00"

    assert rows(read_xlsx("a.xlsx", book_with(fill))) == [
        ["text", "3.00", "2.5", "TRUE", "", "line\nbreak", "Ax000D_\n"]
    ]


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# As spreadsheet programs write them: texts apart from cells, in pieces, line breaks by number.
OF_A_PROGRAM = {
    "[Content_Types].xml": f"""<Types xmlns="{PACKAGE}/content-types">
        <Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>
        <Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>
        <Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/>
        <Override PartName="/xl/sharedStrings.xml" ContentType="{KIND}.sharedStrings+xml"/></Types>""",
    "xl/workbook.xml": f"""<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="1"/>
        <sheets><sheet name="Sheet" sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
        <Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>
        <Relationship Id="rId2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>
        <Relationship Id="rId3" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>""",
    "xl/styles.xml": f"""<styleSheet xmlns="{MAIN}">
        <numFmts count="1"><numFmt numFmtId="170" formatCode="d.m.yyyy"/></numFmts>
        <fonts count="1"><font/></fonts><fills count="1"><fill><patternFill/></fill></fills>
        <borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
        <cellXfs count="3"><xf/><xf numFmtId="170"/><xf numFmtId="10"/></cellXfs></styleSheet>""",
    "xl/sharedStrings.xml": f"""<sst xmlns="{MAIN}"><si><t>plain</t></si>
        <si><r><t xml:space="preserve">rich </t></r><r><rPr><b/></rPr><t>text</t></r></si>
        <si><t>two_x000D_
lines</t></si></sst>""",
    "xl/worksheets/sheet1.xml": f"""<worksheet xmlns="{MAIN}"><dimension ref="A1"/><sheetData>
        <row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>
        <c r="D1" t="s"><v>2</v></c></row>
        <row r="2"><c r="A2" s="1"><v>1</v></c><c r="B2" s="2"><v>0.125</v></c>
        <c r="C2" t="b"><v>1</v></c></row></sheetData></worksheet>""",
}


def test_a_workbook_of_a_spreadsheet_program_is_read() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, part in OF_A_PROGRAM.items():
            archive.writestr(name, part)

    assert rows(read_xlsx("a.xlsx", written.getvalue())) == [
        ["plain", "rich text", "", "two\r\nlines"],
        ["2.1.1904", "12.50%", "TRUE"],
    ]


def test_rows_keep_their_numbers_and_blank_ones_at_the_end_are_left_out() -> None:
    def fill(sheet: Worksheet) -> None:
        sheet["B3"] = "here"
        sheet["A9"].number_format = "0.00"

    assert rows(read_xlsx("a.xlsx", book_with(fill))) == [[], [], ["", "here"]]


def test_errors_and_formulas_that_no_one_calculated_are_faults() -> None:
    table = read_xlsx("a.xlsx", with_part("xl/worksheets/sheet1.xml", FORMULAS))

    assert rows(table) == [["#DIV/0!", "", "ab", "", "2"]]
    assert table.faults.keys() == {("Sheet", 0, 0), ("Sheet", 0, 3)}
    assert "#DIV/0!" in table.faults["Sheet", 0, 0]


def test_what_is_merged_over_rows_is_repeated_in_those_that_say_something() -> None:
    def fill(sheet: Worksheet) -> None:
        sheet.append(["merged", "1"])
        sheet.append([None, "2"])
        sheet.append([None, None])
        sheet.append([None, "4"])
        sheet["C1"] = "across"
        sheet.merge_cells("A1:A4")
        sheet.merge_cells("C1:E1")

    table = read_xlsx("a.xlsx", book_with(fill))

    assert [[cell for cell in row if cell] for row in rows(table)] == [
        ["merged", "1", "across"],
        ["merged", "2"],
        [],
        ["merged", "4"],
    ]
    assert table.merged == {("Sheet", 1, 0), ("Sheet", 3, 0)}


def test_hidden_sheets_are_not_read_and_named() -> None:
    book = Workbook()
    book.create_sheet("Lists")["A1"] = "secret"
    book["Lists"].sheet_state = "hidden"

    table = read_xlsx("a.xlsx", saved(book))

    assert (list(table.data), table.unseen) == (["Sheet"], ("Lists",))


SHEET = "xl/worksheets/sheet1.xml"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><worksheet>&a;</worksheet>'
ENDLESS_ROW = FORMULAS.replace('"1"', '"99999999999"').replace("A1", "A99999999999")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "cannot be read", id="nothing"),
        pytest.param(b"PK\x03\x04", "cannot be read", id="half an archive"),
        pytest.param(b"user,expected\n", "cannot be read", id="CSV"),
        pytest.param(b"\xd0\xcf\x11\xe0 old", "password", id="old or encrypted"),
        pytest.param(with_part(SHEET, BOMB), f"part {SHEET}", id="entities"),
        pytest.param(with_part("customXml/item1.xml", BOMB), "has a DTD", id="entities elsewhere"),
        pytest.param(with_part(SHEET, BOMB.encode("utf-16")), "has a DTD", id="in UTF-16"),
        pytest.param(with_part(SHEET, ENDLESS_ROW), "Sheet has more rows", id="endless row"),
    ],
)
def test_what_is_no_workbook_is_refused_with_the_way_out(content: bytes, words: str) -> None:
    assert words in problem(content)


@pytest.mark.parametrize("name", ["xl/media/image1.svg", "xl/drawings/Logo.SVG"])
def test_a_picture_with_a_dtd_does_no_harm(name: str) -> None:
    picture = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg/>'

    assert list(read_xlsx("a.xlsx", with_part(name, picture)).data) == ["Sheet"]


@pytest.mark.parametrize(
    ("limit", "most", "part", "words"),
    [
        pytest.param("_MAX_UNPACKED", 10**6, b" " * (10**6 + 1), "1,000,000 bytes", id="bytes"),
        pytest.param("_MAX_MARKS", 1000, b"<c/>" * 1001, "1,000 XML", id="elements"),
        pytest.param("_MAX_ROWS", 1000, b'<row spans="1:1"/>' * 1001, "1,000 rows", id="rows"),
    ],
)
def test_what_would_take_too_long_is_refused_unread(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, part: bytes, words: str
) -> None:
    monkeypatch.setattr(workbook, limit, most)

    assert words in problem(with_part(SHEET, part))


def test_a_cell_far_to_the_right_or_far_down_is_named() -> None:
    def right(sheet: Worksheet) -> None:
        sheet["XFD7"] = "x"

    def down(sheet: Worksheet) -> None:
        sheet["A1000000"] = "x"

    assert problem(book_with(right)).startswith("Row 7 of the sheet Sheet")
    assert "200,000 rows" in problem(book_with(down))


def test_blank_cells_far_down_do_no_harm() -> None:
    def fill(sheet: Worksheet) -> None:
        sheet["A1"] = "x"
        sheet["A1000000"].number_format = "0.00"

    assert rows(read_xlsx("a.xlsx", book_with(fill))) == [["x"]]


def test_merges_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "_MAX_MERGED", 5)

    def fill(sheet: Worksheet) -> None:
        for row in range(1, 10):
            sheet.cell(row, 1, "x")
        sheet.merge_cells("B1:B9")

    assert "More than 5 cells" in problem(book_with(fill))


def test_a_written_workbook_shows_its_header_and_whole_cells() -> None:
    content = write_workbook([("One", [["user", "expected"], ["a" * 90 + "\nb", "=x"]])])
    sheet = load_workbook(io.BytesIO(content))["One"]

    assert sheet.freeze_panes == "A2"
    assert sheet["A1"].font.bold
    assert sheet["A2"].alignment.wrap_text
    assert (sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width) == (60, 10)
    assert rows(read_xlsx("a.xlsx", write_workbook([("Sheet", [["#N/A", "=1+1"]])]))) == [
        ["#N/A", "=1+1"]
    ]


WHOLE = write_workbook([("One", [["user", "expected"], ["a", "b"]]), ("Two", [["c"]])])
with zipfile.ZipFile(io.BytesIO(WHOLE)) as whole:
    PARTS = {name: whole.read(name) for name in whole.namelist()}


@given(st.data())
def test_whatever_a_workbook_holds_is_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PARTS)))
    part = PARTS[name]
    begin = data.draw(st.integers(0, len(part)))
    end = data.draw(st.integers(begin, min(len(part), begin + 30)))
    instead = data.draw(st.binary(max_size=20) | st.sampled_from([b"99999999999", b"-1", b"<c/>"]))

    with suppress(FormatError):
        contents = read_xlsx("a.xlsx", with_part(name, part[:begin] + instead + part[end:], WHOLE))
        cells = [cell for rows in contents.data.values() for row in rows for cell in row]
        assert all(isinstance(cell, str) for cell in cells)
