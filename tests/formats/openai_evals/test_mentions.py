"""What saved objects name, wherever they name it."""

from typing import Any

import pytest

from evals_app.formats.openai_evals.mentions import Filter, Mentions, PromptVersion, items_file

FILE = "file-6F2ksmvXxt4VdoqmHRw6kL"
PROMPT = "pmpt_68b0c29740048196bd3a6e6ac3c4d0e2"


def named(value: Any) -> Mentions:
    mentions = Mentions()
    mentions.note(value)
    return mentions


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"source": {"type": "file_id", "id": "file-1"}}, id="items of a run"),
        pytest.param([{"content": [{"type": "input_file", "file_id": "file-1"}]}], id="a PDF"),
        pytest.param({"type": "input_image", "file_id": "file-1"}, id="a picture"),
        pytest.param({"container": {"type": "auto", "file_ids": ["file-1"]}}, id="a container"),
        pytest.param({"file": {"file_id": "file-1"}}, id="a part of a chat message"),
        pytest.param({"sample": {"output": [{"file_id": "file-1"}]}}, id="a reply"),
    ],
)
def test_a_file_is_named_by_its_key(value: Any) -> None:
    assert named(value).files == {"file-1"}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"item": {"invoice": FILE}}, id="a field that a template refers to"),
        pytest.param({"content": f'[{{"file_id": "{FILE}"}}]'}, id="JSON inside a text"),
        pytest.param({"source": f"def grade(): return open('{FILE}')"}, id="a Python grader"),
    ],
)
def test_an_id_in_a_text_names_a_file(value: Any) -> None:
    assert named(value).files == {FILE}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"file_id": "{{item.invoice}}"}, id="a template"),
        pytest.param({"file_id": None}, id="none"),
        pytest.param({"file_id": "../../etc/passwd"}, id="a path"),
        pytest.param("a file-based, file_conversionserviceshandler", id="words"),
        pytest.param("cfile_6812345678901234567890", id="a file of a container"),
    ],
)
def test_what_is_not_an_id_names_no_file(value: Any) -> None:
    assert named(value).files == set()


@pytest.mark.parametrize(
    ("value", "prompts"),
    [
        ({"prompt": {"id": "pmpt_1", "version": "2"}}, {PromptVersion("pmpt_1", "2")}),
        ({"prompt": {"id": "pmpt_1", "version": 2}}, {PromptVersion("pmpt_1", "2")}),
        ({"prompt_id": "pmpt_1", "prompt_version": "7"}, {PromptVersion("pmpt_1", "7")}),
        ({"prompt": {"id": "pmpt_1", "version": None}}, {PromptVersion("pmpt_1")}),
        ({"note": f"made with {PROMPT}"}, {PromptVersion(PROMPT)}),
        ({"prompt": {"id": "pmpt_1", "version": "../1"}}, {PromptVersion("pmpt_1")}),
        (
            [{"id": "pmpt_1", "version": "1"}, {"id": "pmpt_1", "version": "2"}],
            {PromptVersion("pmpt_1", "1"), PromptVersion("pmpt_1", "2")},
        ),
        ({"prompt": "a text"}, set()),
    ],
)
def test_a_prompt_is_named_in_each_version(value: Any, prompts: set[PromptVersion]) -> None:
    assert named(value).prompts == prompts


def test_a_prompt_has_a_page_for_people() -> None:
    assert PromptVersion("pmpt_1", "2").page.endswith("?prompt=pmpt_1&version=2")
    assert PromptVersion("pmpt_1").page.endswith("?prompt=pmpt_1")


def test_answers_that_items_name_are_stored_and_those_of_the_run_are_not() -> None:
    mentions = named(
        {
            "datasource_item": {"a": "resp_1", "b": ["chatcmpl-1"], "c": "about resp_2"},
            "sample": {"id": "chatcmpl-2"},
            "results": [{"sample": {"id": "resp_3"}}],
        }
    )

    assert (mentions.responses, mentions.completions) == ({"resp_1"}, {"chatcmpl-1"})


def test_messages_of_a_stored_completion_are_no_completions() -> None:
    assert named({"id": "chatcmpl-1-0"}).completions == set()


@pytest.mark.parametrize(
    ("source", "filters"),
    [
        ({"type": "file_id", "id": "file-1"}, set()),
        ({"type": "stored_completions"}, {Filter((), 0, 900)}),
        (
            {
                "type": "stored_completions",
                "model": "gpt-5",
                "metadata": {"b": "2", "a": "1"},
                "created_after": 100,
                "created_before": 200,
            },
            {Filter((("model", "gpt-5"), ("metadata[a]", "1"), ("metadata[b]", "2")), 100, 200)},
        ),
        ({"type": "stored_completions", "created_before": 1000}, {Filter((), 0, 900)}),
    ],
)
def test_a_run_is_about_what_was_stored_before_it(source: Any, filters: set[Filter]) -> None:
    mentions = Mentions()

    mentions.note_run({"created_at": 900, "data_source": {"source": source}})

    assert mentions.filters == filters


@pytest.mark.parametrize(
    ("created", "fits"), [(99, False), (100, True), (200, True), (201, False), (None, True)]
)
def test_a_filter_has_bounds(created: int | None, *, fits: bool) -> None:
    assert Filter((), 100, 200).fits({"created": created}) is fits


def test_what_other_services_have_is_named_apart() -> None:
    mentions = named(
        [
            {"image_url": "https://pictures.test/1.png"},
            {"type": "image_url", "image_url": {"url": "https://pictures.test/2.png"}},
            {"file_url": "https://pictures.test/3.pdf"},
            {"image_url": "data:image/png;base64,AAAA"},
            {"type": "file_search", "vector_store_ids": ["vs_1"]},
        ]
    )

    pictures = {f"https://pictures.test/{name}" for name in ("1.png", "2.png", "3.pdf")}
    assert mentions.elsewhere == {*pictures, "vector store vs_1"}


def test_responses_chosen_by_a_filter_are_said_to_be_left_out() -> None:
    mentions = Mentions()

    mentions.note_run({"data_source": {"source": {"type": "responses", "model": "gpt-5"}}})

    assert [text for text in mentions.elsewhere if "responses" in text]


@pytest.mark.parametrize(
    ("content", "files"),
    [
        (b'{"item": {"file_id": "file-1"}}\n\n{"file_id": "file-2"}\n', {"file-1", "file-2"}),
        (b"\x00\x01{", set()),
        (f"About {FILE}".encode(), set()),
        (b"[" * 100_000, set()),
        (b"", set()),
    ],
)
def test_lines_of_items_name_files_and_documents_do_not(content: bytes, files: set[str]) -> None:
    mentions = Mentions()

    mentions.note_rows(content)

    assert mentions.files == files


def test_however_deep_it_is_nested() -> None:
    value: Any = {"file_id": "file-1"}
    for _ in range(5_000):
        value = [value]

    assert named(value).files == {"file-1"}


@pytest.mark.parametrize(
    ("run", "file_id"),
    [
        ({"data_source": {"source": {"type": "file_id", "id": "file-1"}}}, "file-1"),
        ({"data_source": {"source": {"type": "file_content", "id": "file-1"}}}, ""),
        ({"data_source": {"source": {"type": "file_id", "id": "../x"}}}, ""),
        ({"data_source": None}, ""),
    ],
)
def test_the_file_that_has_the_items_of_a_run(run: Any, file_id: str) -> None:
    assert items_file(run) == file_id
