from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.errors import UnavailableError
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES
from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.record.aids import Aids, TextSimilarity
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from tests.engine.graders.makers import view_of

pytestmark = pytest.mark.anyio

ALIKE = TextSimilarity(0.812, "embeddings openai/embed-1")
DEGRADED = TextSimilarity(0.25, "fuzzy_match", is_degraded=True)


@dataclass
class FakeCompare:
    """Returns a given similarity, and remembers its questions."""

    answer: TextSimilarity | Exception = ALIKE
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, text: str, other: str, *, view: View, key: str) -> TextSimilarity:
        self.asked.append((text, other))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def grade(
    reply: str = "Yes.",
    *,
    by: FakeCompare | None = None,
    expected: str | None = None,
    **options: Any,
) -> Grade:
    grader = SemanticSimilarity.model_validate(options)
    aids = Aids(compare=by or FakeCompare(), key="0")
    return await grader.grade_with(view_of(reply, expected=expected), aids)


async def test_the_score_is_the_similarity_and_names_the_method() -> None:
    result = await grade(value="Certainly.")

    assert (result.score, result.passed) == (0.812, None)
    for shown in ("“Certainly.”", "embeddings openai/embed-1", "“Yes.”"):
        assert shown in result.reason
    assert result.details == {"method": "embeddings openai/embed-1", "degraded": False}


async def test_what_stands_in_for_embeddings_is_labelled_and_so_is_what_a_judge_said() -> None:
    similarity = TextSimilarity(
        0.7, "judge", is_degraded=True, critique="The day differs.", flags=("scripted",)
    )

    result = await grade(by=FakeCompare(similarity), value="Certainly.")

    assert "by judge, because" in result.reason
    assert result.reason.endswith("it says “Yes.”. The day differs.")
    assert (result.details["degraded"], result.details["flags"]) == (True, ["scripted"])


async def test_the_expected_text_of_the_turn_is_taken_without_a_value() -> None:
    compare = FakeCompare()

    await grade(by=compare, expected="Certainly.")
    await grade(by=compare, expected="Certainly.", value="Of course.")

    assert compare.asked == [("Yes.", "Certainly."), ("Yes.", "Of course.")]


async def test_a_part_of_a_json_reply_is_compared() -> None:
    compare = FakeCompare()

    graded = await grade('{"a": "Yes."}', by=compare, value="x", response_path="a")
    missing = await grade('{"b": "Yes."}', by=compare, value="x", response_path="a")

    assert compare.asked == [("Yes.", "x")]
    assert graded.reason.startswith("At a: ")
    assert (missing.score, missing.passed) == (0.0, None)


async def test_what_requires_embeddings_takes_nothing_in_their_place() -> None:
    kept = await grade(value="x", require="embeddings")
    refused = await grade(by=FakeCompare(DEGRADED), value="x", require="embeddings")

    assert kept.status is GradeStatus.OK
    assert (refused.status, refused.cause) == (GradeStatus.UNGRADED, Cause.CASE)


async def test_a_provider_that_stays_away_is_no_score_and_no_failure() -> None:
    graded = await grade(by=FakeCompare(UnavailableError("It is away.")), value="x")

    assert (graded.status, graded.cause) == (GradeStatus.UNGRADED, Cause.PROVIDER)
    assert graded.reason.endswith("It is away.")


async def test_without_anything_to_measure_with_there_is_no_grade() -> None:
    graded = await SemanticSimilarity(value="x").grade_with(view_of("y"), Aids())

    assert (graded.status, graded.cause) == (GradeStatus.UNGRADED, Cause.JUDGE)


async def test_texts_that_are_too_long_are_not_cut() -> None:
    too_long = "x" * (MAX_TEXT_BYTES + 1)

    reply = await grade(too_long, value="x")
    expected = await grade(expected=too_long)

    assert (reply.passed, reply.cause) == (False, Cause.AGENT)
    assert (expected.status, expected.cause) == (GradeStatus.UNGRADED, Cause.CASE)
    assert expected.reason.startswith("The expected text has 200,001 bytes")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"value": ""}, "at least 1", id="empty text"),
        pytest.param({"require": "judge"}, "'any' or 'embeddings'", id="another way"),
        pytest.param({"embedding_model": "embed"}, "provider/model", id="no provider"),
        pytest.param({"embedding_model": "Open AI/x"}, "slug", id="no slug"),
        pytest.param({"response_path": "a..b"}, "wildcards", id="path"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        SemanticSimilarity.model_validate(options)


def test_a_model_of_its_own_is_read() -> None:
    grader = SemanticSimilarity(embedding_model="openai/text-embedding-3-small")

    assert str(grader.embedder) == "openai/text-embedding-3-small"
    assert SemanticSimilarity().embedder is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"value": "Yes."}, "Reply means the same as “Yes.”", id="value"),
        ({"response_path": "a"}, "Reply at a means the same as the expected text"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(options: dict[str, Any], sentence: str) -> None:
    assert SemanticSimilarity.model_validate(options).summary() == sentence
