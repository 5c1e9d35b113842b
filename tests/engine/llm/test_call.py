import json
from typing import Any

import pytest

from evals_app.engine.llm.call import EmbedCall, FileContent, UserMessage
from evals_app.engine.llm.replay import fingerprint
from tests.engine.llm.makers import make_call

PNG = FileContent("a.png", "image/png", b"one")


def call_with(*files: FileContent) -> Any:
    return make_call(messages=(UserMessage("Look.", files),))


@pytest.mark.parametrize(
    ("file", "is_same"),
    [
        pytest.param(FileContent("a.png", "image/png", b"one"), True, id="same"),
        pytest.param(FileContent("a.png", "image/png", b"two"), False, id="content"),
        pytest.param(FileContent("b.png", "image/png", b"one"), False, id="name"),
        pytest.param(FileContent("a.png", "image/jpeg", b"one"), False, id="type"),
    ],
)
def test_files_belong_to_the_question(file: FileContent, *, is_same: bool) -> None:
    assert (fingerprint(call_with(PNG)) == fingerprint(call_with(file))) is is_same
    assert fingerprint(call_with(PNG)) != fingerprint(call_with())


def test_what_a_file_holds_is_in_no_log() -> None:
    call = call_with(FileContent("a.pdf", "application/pdf", b"secret"))

    assert "secret" not in call.as_json()
    assert "secret" not in repr(call)
    assert "sha256" in json.loads(call.as_json())["messages"][0][1]["files"][0]


def test_a_prompt_has_no_more_tokens_than_bytes_and_what_its_files_may_take() -> None:
    plain, picture = call_with(), call_with(PNG)

    assert plain.most_prompt_tokens >= len(plain.as_json().encode()) + 1000
    assert picture.most_prompt_tokens >= plain.most_prompt_tokens + 50_000
    assert plain.files == ()
    assert picture.files == (PNG,)


@pytest.mark.parametrize(
    ("size", "most"),
    [pytest.param(1000, 70_000, id="short"), pytest.param(10_000_000, 2_000_000, id="long")],
)
def test_a_pdf_takes_more_the_longer_it_is_and_never_more_than_a_model_reads(
    size: int, most: int
) -> None:
    assert FileContent("a.pdf", "application/pdf", b"x" * size).most_tokens == most


@pytest.mark.parametrize("changes", [{"seed": 1}, {"top_logprobs": 1}])
def test_every_setting_belongs_to_the_question(changes: dict[str, Any]) -> None:
    assert fingerprint(make_call(**changes)) != fingerprint(make_call())


def test_texts_to_embed_have_no_more_tokens_than_bytes() -> None:
    call = EmbedCall(provider="openai", model="m", texts=("ä", "b"))

    assert call.most_prompt_tokens == 1003
    assert call.max_output_tokens == 0
