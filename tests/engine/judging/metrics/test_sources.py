from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.judging.answers.replies import UNDECIDED, Form
from evals_app.engine.judging.metrics.items import ListedItem, Task
from evals_app.engine.judging.metrics.sources import StatementSource, evidence_of, find_sources
from evals_app.engine.judging.prompts.context import WINDOW_BYTES
from evals_app.engine.llm.call import ModelCall
from evals_app.engine.record.trial import Chunk
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import make_inquiry, prompt_of, source_verdicts

pytestmark = pytest.mark.anyio
FORM = Form(("supported", "contradicted", "not_mentioned"), names_chunk=True)
STRENGTH = ("contradicted", "supported", UNDECIDED, "not_mentioned")
TEXTS = ("Returns are accepted for 30 days.", "Tea is free.")


async def sources_in(
    model: FakeModel, texts: Sequence[str] = TEXTS, *, count: int = 1, **changes: Any
) -> list[StatementSource]:
    chunks = [Chunk(f"c{number}", text) for number, text in enumerate(texts, 1)]
    return await find_sources(
        Task("test", "", FORM, block="CLAIMS"),
        [ListedItem(number, f"claim {number}") for number in range(1, count + 1)],
        chunks,
        make_inquiry(model, **changes),
        sourced=frozenset({"supported", "contradicted"}),
        strength=STRENGTH,
    )


@pytest.mark.parametrize(
    ("word", "verdict", "note"),
    [
        pytest.param("supported 2: tea is free", "supported", "Chunk 2 (c2): “tea", id="quoted"),
        pytest.param("supported 1: Tea is free", UNDECIDED, "not occur in chunk 1", id="elsewhere"),
        pytest.param("supported 2: Tea is cheap", UNDECIDED, "“Tea is cheap”", id="made up"),
        pytest.param("supported 2: ", UNDECIDED, "passage of chunk 2", id="no quote"),
        pytest.param("supported 3: Tea is free", UNDECIDED, "needs a chunk", id="no such chunk"),
        pytest.param("supported", UNDECIDED, "needs a chunk", id="no source at all"),
        pytest.param("contradicted 2: Tea is free", "contradicted", "“Tea", id="against it"),
        pytest.param("contradicted 2: Tea is cheap", UNDECIDED, "not occur", id="against, made up"),
        pytest.param("contradicted", UNDECIDED, "needs a chunk", id="against it, without a source"),
        pytest.param("not_mentioned", "not_mentioned", "", id="nowhere"),
    ],
)
async def test_support_needs_a_quote_that_stands_in_its_chunk(
    word: str, verdict: str, note: str
) -> None:
    (source,) = await sources_in(FakeModel(lambda _: source_verdicts(word)))

    assert source.verdict == verdict
    assert note in source.note
    assert bool(note) == bool(source.note)


async def test_an_item_is_shown_like_those_of_other_checks() -> None:
    (source,) = await sources_in(FakeModel(source_verdicts("supported 2: Tea is free.")))

    assert source.as_json() == {
        "id": 1,
        "text": "claim 1",
        "verdict": "supported",
        "note": "Chunk 2 (c2): “Tea is free.”",
    }
    (evidence,) = evidence_of([source])
    assert (evidence.quote, evidence.bears_on) == ("Tea is free.", "claim 1")
    assert evidence.is_verified


async def test_a_quote_that_is_made_up_twice_is_unverified_evidence() -> None:
    sources = await sources_in(FakeModel(lambda _: source_verdicts("supported 1: No returns.")))

    assert [quote.is_verified for quote in evidence_of(sources)] == [False]


async def test_a_missing_verdict_says_so() -> None:
    words = ["not_mentioned"] * 4

    sources = await sources_in(FakeModel(source_verdicts(*words), source_verdicts()), count=5)

    assert sources[4].verdict == UNDECIDED
    assert "no verdict" in sources[4].note


LONG = ("Returns are accepted for 30 days. " + "x" * (WINDOW_BYTES - 40), "Returns: 60 days.")


@pytest.mark.parametrize(
    ("one", "other", "verdict", "notes"),
    [
        pytest.param(
            "supported 1: for 30 days",
            "contradicted 2: 60 days",
            "contradicted",
            ["Chunk 2 (c2): “60 days”", "But supported by another part: Chunk 1 (c1): “for 30"],
            id="contradiction wins and the conflict is shown",
        ),
        ("not_mentioned", "supported 2: 60 days", "supported", ["Chunk 2 (c2)"]),
        pytest.param(
            "supported 1: made up",
            "supported 2: 60 days",
            "supported",
            ["Chunk 2 (c2)", "But undecided by another part"],
            id="verified support wins",
        ),
        pytest.param("not_mentioned", "not_mentioned", "not_mentioned", [], id="nowhere"),
    ],
)
async def test_of_several_windows_the_strongest_verdict_counts(
    one: str, other: str, verdict: str, notes: list[str]
) -> None:
    def answer(call: ModelCall) -> dict[str, Any]:
        return source_verdicts(one if "accepted for 30 days" in prompt_of(call) else other)

    model = FakeModel(answer)

    (source,) = await sources_in(model, LONG)

    assert source.verdict == verdict
    assert [note for note in notes if note not in source.note] == []
    # What is made up is asked for once more.
    assert len(model.asked) == 2 + ("made up" in one)


async def test_a_script_need_not_quote_but_must_not_lie() -> None:
    silent = await sources_in(FakeModel("supported"), is_scripted=True)
    reply = '{"verdicts": [{"id": 1, "chunk": 2, "quote": "made up", "verdict": "supported"}]}'
    lying = await sources_in(FakeModel(reply), is_scripted=True)

    assert [source.verdict for source in silent + lying] == ["supported", UNDECIDED]
