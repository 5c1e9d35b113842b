import io
import random
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.exporting.file_export import export_files
from evals_app.library.importing import uploads
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.uploads import unpack
from evals_app.models import Suite
from tests.library.written import AGENT, EVERYTHING

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SUITE = b"""suite: Receipts
slug: receipts
agent: shop
cases:
- name: Total
  turns: [{user: What is the total?, files: [photos/a.png], assertions: [{type: contains, value: x}]}]
"""


def zipped(files: Mapping[Any, bytes], *, method: int = 8) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def project(files: Mapping[Any, bytes]) -> SourceFile:
    return SourceFile("project.zip", zipped(files))


def refused(*sent: SourceFile) -> list[str]:
    with pytest.raises(FormatError) as caught:
        unpack(sent)
    return [f"{problem.path}: {problem.message}" for problem in caught.value.problems]


@pytest.mark.django_db
def test_an_export_comes_back_unchanged_as_an_archive() -> None:
    shown = [SourceFile("receipts.suite.yaml", SUITE), SourceFile("photos/a.png", PNG)]
    import_files([*EVERYTHING, *shown])
    exported = export_files().files

    upload = unpack([SourceFile("everything.zip", zipped(exported))])
    report = import_files(upload.files, find=upload.find)

    assert {change.what for change in report.changes} == {"unchanged"}
    assert Suite.objects.count() == 2
    assert {"receipts", "refunds"} <= {change.slug for change in report.changes}
    assert upload.beside == {"receipts.files/photos/a.png": PNG}


@pytest.mark.parametrize(
    ("others", "imported"),
    [
        pytest.param((), ["a.csv", "more/b.xlsx"], id="nothing but tables"),
        pytest.param(("README.md",), ["a.csv", "more/b.xlsx"], id="notes"),
        pytest.param(("x.agent.yaml",), ["x.agent.yaml"], id="eval files"),
    ],
)
def test_tables_in_an_archive_are_meant_if_nothing_else_is(
    others: tuple[str, ...], imported: list[str]
) -> None:
    upload = unpack([project(dict.fromkeys(("a.csv", "more/b.xlsx", *others), b""))])

    assert [file.path for file in upload.files] == imported
    left = [] if "a.csv" in imported else ["a.csv", "more/b.xlsx"]
    assert [file.path for file in upload.passed_over()] == left


def test_a_table_that_a_file_names_is_not_passed_over() -> None:
    upload = unpack([project({"promptfooconfig.yaml": b"", "tests.csv": b"q"})])

    assert upload.find("tests.csv") == b"q"
    assert upload.passed_over() == []


@pytest.mark.django_db
def test_a_pattern_finds_what_is_in_the_archive() -> None:
    config = b"prompts: ['Say {{a}}']\nproviders: [openai:gpt-5]\ntests: file://tests/*.yaml\n"
    test = b"- {vars: {a: hello}, assert: [{type: contains, value: hello}]}\n"
    files = {"promptfooconfig.yaml": config, "tests/a.yaml": test, "tests/b.yaml": test}
    upload = unpack([project(files)])

    import_files(upload.files, find=upload.find, find_paths=upload.find_paths)

    assert Suite.objects.get().cases.count() == 2


@pytest.mark.django_db
def test_eval_files_find_what_stands_beside_them_and_the_rest_is_ignored() -> None:
    files = {"evals/receipts.suite.yaml": SUITE, "evals/photos/a.png": PNG, "README.md": b"About"}
    upload = unpack([AGENT, project({**files, "docker-compose.yaml": b"services: {}"})])

    import_files(upload.files, find=upload.find)

    assert [file.path for file in upload.files] == [AGENT.path, "evals/receipts.suite.yaml"]
    assert Suite.objects.get().slug == "receipts"


def test_a_file_that_was_sent_by_itself_stays_one_to_import() -> None:
    notes = SourceFile("notes.md", b"About")

    assert unpack([notes]).files == [notes]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param("./shop.agent.yaml", "shop.agent.yaml", id="begins here"),
        pytest.param("a\\b\\shop.agent.yaml", "a/b/shop.agent.yaml", id="as Windows writes it"),
        pytest.param("étude/shop.agent.yaml", "étude/shop.agent.yaml", id="UTF-8, said so"),
        pytest.param("a\nb.agent.yaml", "a?b.agent.yaml", id="newline"),
    ],
)
def test_paths_are_shown_in_one_way(name: str, path: str) -> None:
    assert [file.path for file in unpack([project({name: b""})]).files] == [path]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param("étude".encode(), "étude.agent.yaml", id="UTF-8, not said so"),
        pytest.param("étude".encode("cp437"), "étude.agent.yaml", id="cp437"),
    ],
)
def test_names_that_do_not_tell_their_encoding_are_read(raw: bytes, path: str) -> None:
    # zipfile itself always says so.
    packed = zipped({"@" * len(raw) + ".agent.yaml": b""}).replace(b"@" * len(raw), raw)

    upload = unpack([SourceFile("a.zip", packed)])

    assert [file.path for file in upload.files] == [path]


@pytest.mark.parametrize(
    "name",
    [".git/x.agent.yaml", "a/.venv/x.agent.yaml", "__MACOSX/._x.agent.yaml", ".x.agent.yaml"],
)
def test_what_is_hidden_is_left_out(name: str) -> None:
    upload = unpack([project({"shop.agent.yaml": b"", name: b"", "folder/": b""})])

    assert [file.path for file in upload.files] == ["shop.agent.yaml"]
    assert upload.beside == {}


def a_link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("x.agent.yaml")
    entry.external_attr = 0o120777 << 16
    return entry


@pytest.mark.parametrize("name", ["/etc/x.yaml", "../x.yaml", "a/../../x.yaml", "..\\x", "C:\\x"])
def test_a_path_that_leads_out_is_refused(name: str) -> None:
    (message,) = refused(project({"shop.agent.yaml": b"", name: b""}))

    assert "outside the archive" in message
    assert message.startswith("project.zip/")


def test_links_and_encrypted_files_are_refused_all_in_one_go() -> None:
    secret = bytearray(zipped({"y.agent.yaml": b"text"}))
    secret[secret.index(b"PK\x01\x02") + 8] |= 1  # the flag of an encrypted entry

    messages = refused(project({a_link(): b"/etc/passwd"}), SourceFile("b.zip", bytes(secret)))

    assert len(messages) == 2
    assert "b.zip/y.agent.yaml: This entry is encrypted" in messages[0]
    assert "is a link" in messages[1]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_in_an_unusual_way_is_refused(method: int) -> None:
    packed = SourceFile("a.zip", zipped({"x.agent.yaml": bytes(1000)}, method=method))

    assert "only deflate" in refused(packed)[0]


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    bomb = project({f"{n}.agent.yaml": bytes(6_000_000) for n in range(10)})

    assert len(bomb.content) < 100_000
    assert "larger than 50 MB" in refused(bomb)[0]


def test_archives_together_may_not_unpack_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UNPACKED_BYTES", 100)  # the true one would take seconds
    sent = [SourceFile(f"{n}.zip", zipped({f"{n}.agent.yaml": bytes(60)})) for n in range(2)]

    assert refused(*sent)[0].startswith("1.zip: Unpacked")
    assert unpack(sent[:1]).files


def test_an_archive_that_says_less_than_it_unpacks_to_is_damaged() -> None:
    packed = zipped({"x.agent.yaml": bytes(5000)})
    lying = packed.replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little"))

    assert "is damaged" in refused(SourceFile("a.zip", lying))[0]


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_ENTRIES", 3)  # the true one would take seconds

    assert "more than 3 entries" in refused(project({f"{n}.agent.yaml": b"" for n in range(4)}))[0]
    assert len(unpack([project({f"{n}.agent.yaml": b"" for n in range(3)})]).files) == 3


def test_one_path_in_two_archives_is_refused() -> None:
    one = SourceFile("a.zip", zipped({"shop.agent.yaml": b""}))
    other = SourceFile("b.zip", zipped({"shop.agent.yaml": b""}))

    (problem,) = refused(one, other)
    assert problem.startswith("b.zip/shop.agent.yaml: Two uploaded files")


@pytest.mark.parametrize("content", [b"agent: Shop", zipped({"shop.agent.yaml": b"agent: S"})])
def test_one_path_is_not_sent_twice_however_it_is_sent(content: bytes) -> None:
    name = "shop.zip" if content.startswith(b"PK") else "shop.agent.yaml"
    files = [SourceFile(name, content), SourceFile("shop.agent.yaml", b"agent: Shop")]

    for sent in (files, files[::-1]):
        (problem,) = refused(*sent)
        assert problem.startswith("shop.agent.yaml: Two uploaded files")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "zip archive", id="empty"),
        pytest.param(b"suite: x", "zip archive", id="YAML"),
        pytest.param(zipped({"README.md": b""}), "no eval file", id="nothing to import"),
        pytest.param(zipped({}), "no eval file", id="an empty archive"),
    ],
)
def test_an_archive_without_eval_files_is_refused(content: bytes, words: str) -> None:
    assert words in refused(SourceFile("a.ZIP", content))[0]


def test_a_damaged_archive_is_refused_in_words_whatever_is_wrong_with_it() -> None:
    packed = zipped({"étude/shop.agent.yaml": AGENT.content, "b.agent.yaml": b"x" * 99})
    draw = random.Random(7)
    outcomes = set()
    for _ in range(3000):
        damaged = bytearray(packed)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        cut = draw.randrange(len(damaged)) if draw.random() < 0.2 else len(damaged)

        try:
            unpack([SourceFile("a.zip", bytes(damaged[:cut]))])
            outcomes.add("read")
        except FormatError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}
