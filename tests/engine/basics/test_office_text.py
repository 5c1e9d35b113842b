import io
import time
import zipfile
from collections.abc import Mapping

import pytest

from evals_app.engine.basics.office_text import MAX_CHARS, DocumentError, text_of
from evals_app.engine.specs.files import MEDIA_TYPES

DOCX, XLSX, PPTX = (MEDIA_TYPES[ending] for ending in (".docx", ".xlsx", ".pptx"))
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def zip_of(**parts: str | bytes) -> bytes:
    return archive_of(zipfile.ZIP_DEFLATED, parts)


def archive_of(method: int, parts: Mapping[str, str | bytes]) -> bytes:
    """Pack parts; `__` stands for a slash, `_xml` at the end for its ending."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), text)
    return file.getvalue()


def corrupt(archive: bytes) -> bytes:
    """Return an archive with a corrupted first part."""
    start = archive.index(b"document.xml") + len("document.xml")
    return archive[:start] + b"\xff" * 20 + archive[start + 20 :]


def docx(xml: str | bytes) -> bytes:
    return zip_of(word__document_xml=xml)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def word(*paragraphs: str) -> bytes:
    body = "".join(map(paragraph, paragraphs))
    text = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return docx(text)


@pytest.mark.parametrize(
    ("media_type", "content", "text"),
    [
        pytest.param("text/plain", "Grüße".encode(), "Grüße", id="text"),
        pytest.param("text/csv", b"\xef\xbb\xbfa,b\n1,2\n", "a,b\n1,2\n", id="byte order mark"),
        pytest.param(
            "text/html",
            b"<html><style>p {}</style><p>Dear <b>Ann</b>,</p><script>x()</script><p>Bye &amp; all",
            "Dear\nAnn\n,\nBye & all",
            id="html",
        ),
        pytest.param(DOCX, word("First.", "Second."), "First.\nSecond.", id="docx"),
        pytest.param(
            XLSX,
            zip_of(
                xl__sharedStrings_xml=f'<sst xmlns="{SHEET}"><si><t>Item</t></si></sst>',
                xl__worksheets__sheet1_xml=f'<worksheet xmlns="{SHEET}"><sheetData>'
                '<row><c t="s"><v>0</v></c><c><v>24.5</v></c></row>'
                '<row><c t="inlineStr"><is><t>Book</t></is></c></row>'
                "</sheetData></worksheet>",
            ),
            "Item\t24.5\nBook",
            id="xlsx",
        ),
        pytest.param(
            PPTX,
            zip_of(
                ppt__slides__slide2_xml=f'<s xmlns:a="{DRAWING}"><a:p><a:r><a:t>Two</a:t></a:r></a:p></s>',
                ppt__slides__slide1_xml=f'<s xmlns:a="{DRAWING}"><a:p><a:r><a:t>One</a:t></a:r></a:p></s>',
            ),
            "One\nTwo",
            id="pptx",
        ),
    ],
)
def test_the_text_of_a_document(media_type: str, content: bytes, text: str) -> None:
    assert text_of(media_type, content) == text


@pytest.mark.parametrize(
    ("media_type", "content", "says"),
    [
        pytest.param("text/plain", b"caf\xe9", "UTF-8", id="other encoding"),
        pytest.param(DOCX, b"PK not a zip", "not a valid docx document", id="no archive"),
        pytest.param(DOCX, zip_of(other_xml="<a/>"), "not a valid docx document", id="no docx"),
        pytest.param(DOCX, docx("<a>"), "XML is broken", id="broken"),
        pytest.param(
            DOCX,
            docx('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
            "declares entities",
            id="entities",
        ),
        pytest.param(
            DOCX,
            zip_of(
                word__document_xml='<?xml version="1.0" encoding="utf-16"?>'
                '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'.encode("utf-16")
            ),
            "declares entities",
            id="entities in another encoding",
        ),
        pytest.param(
            DOCX,
            docx('<?xml version="1.0" encoding="rot13"?><a/>'),
            "not a valid docx document|XML is broken",
            id="no encoding",
        ),
        pytest.param(
            DOCX, corrupt(word("Hello" * 99)), "not a valid docx document", id="broken archive"
        ),
        pytest.param(
            DOCX,
            archive_of(zipfile.ZIP_LZMA, {"word__document_xml": "<a/>"}),
            "no office program uses",
            id="other packing",
        ),
        pytest.param(
            PPTX,
            zip_of(
                **{f"ppt__slides__slide{n}_xml": "<s>" + " " * 900_000 + "</s>" for n in range(30)}
            ),
            "more than 20,000,000",
            id="bomb of many parts",
        ),
        pytest.param(
            DOCX,
            docx(f"<d>{'<p/>' * 500_000}</d>"),
            "more than 500,000 elements",
            id="too many elements",
        ),
        pytest.param(
            PPTX,
            zip_of(**{f"ppt__slides__slide{n}_xml": "<s/>" for n in range(2_001)}),
            "2,001 slides or sheets",
            id="too many parts",
        ),
        pytest.param(DOCX, docx(" " * 20_000_001), "more than 20,000,000", id="bomb"),
    ],
)
def test_what_is_no_document_is_refused_in_words(
    media_type: str, content: bytes, says: str
) -> None:
    with pytest.raises(DocumentError, match=says):
        text_of(media_type, content)


def test_a_long_text_is_cut_and_says_so() -> None:
    text = text_of("text/plain", b"x" * (MAX_CHARS + 7))

    assert text == "x" * MAX_CHARS + "\n[the rest is left out]"


def test_a_text_that_just_fits_is_not_cut() -> None:
    assert text_of("text/plain", b"x" * MAX_CHARS) == "x" * MAX_CHARS


def document(body: str) -> bytes:
    return docx(f'<w:document xmlns:w="{WORD}">{body}</w:document>')


def test_a_paragraph_within_another_is_read_once() -> None:
    box = paragraph("In a box.")
    body = f"<w:p><w:r><w:t>Before.</w:t>{box}<w:t>After.</w:t></w:r></w:p>{paragraph('Last.')}"

    assert text_of(DOCX, document(body)) == "Before.\nIn a box.\nAfter.\nLast."


LONG = "x" * 100_000
SHEET_OF = f'<worksheet xmlns="{SHEET}"><row>{{}}</row></worksheet>'


@pytest.mark.parametrize(
    ("media_type", "content", "length"),
    [
        pytest.param("text/html", b"<!--" * 40_000, 0, id="comments without end"),
        pytest.param("text/html", b"<script>" * 40_000, 0, id="scripts without end"),
        pytest.param("text/html", b"<a b='" * 40_000, 0, id="quotes without end"),
        pytest.param("text/html", b'<a b="' * 40_000 + b"'>" * 40_000, 79_998, id="mixed quotes"),
        pytest.param("text/html", b"<" * 300_000, MAX_CHARS, id="no tags"),
        pytest.param(
            DOCX, document("<w:p>" * 20_000 + "<w:t>x</w:t>" + "</w:p>" * 20_000), 1, id="nested"
        ),
        pytest.param(
            XLSX,
            zip_of(
                xl__sharedStrings_xml=f'<sst xmlns="{SHEET}"><si><t>{LONG}</t></si></sst>',
                xl__worksheets__sheet1_xml=SHEET_OF.format('<c t="s"><v>0</v></c>' * 50_000),
            ),
            MAX_CHARS,
            id="one long text in many cells",
        ),
    ],
)
def test_what_is_made_to_keep_a_reader_busy_is_read_quickly(
    media_type: str, content: bytes, length: int
) -> None:
    began = time.process_time()

    text = text_of(media_type, content)

    assert time.process_time() - began < 20  # of the processor; alone, less than one
    assert len(text.removesuffix("\n[the rest is left out]")) == length
