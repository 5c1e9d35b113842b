from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.measures import wordnet
from evals_app.engine.graders.overlap import Bleu, FuzzyMatch, Meteor, OverlapGrader, Rouge, TokenF1
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.suites.suite_spec import AssertionSpec
from tests.engine.graders.makers import view_of
from tests.engine.graders.measures.small_wordnet import write_wordnet
from tests.engine.graders.pairs import REFERENCES, TOLERANCE, Reference

GRADERS: tuple[OverlapGrader, ...] = (FuzzyMatch(), TokenF1(), Bleu(), Rouge(), Meteor())

every_grader = pytest.mark.parametrize("grader", GRADERS, ids=lambda grader: type(grader).__name__)


@pytest.fixture(autouse=True)
def _small_wordnet(tmp_path: Path) -> Iterator[None]:
    wordnet.set_folder(write_wordnet(tmp_path / "wordnet"))
    yield
    wordnet.set_folder(wordnet.DEBIAN_FOLDER)


@pytest.fixture
def _no_wordnet(tmp_path: Path) -> None:
    wordnet.set_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("pair", REFERENCES, ids=lambda pair: pair.reply[:12] or "empty")
@pytest.mark.parametrize(
    ("grader", "score"),
    [
        pytest.param(FuzzyMatch(), "fuzzy_match", id="fuzzy_match"),
        pytest.param(TokenF1(), "token_f1", id="token_f1"),
        pytest.param(Bleu(), "bleu", id="bleu"),
        pytest.param(Rouge(variant="rouge1"), "rouge1", id="rouge1"),
        pytest.param(Rouge(variant="rouge2"), "rouge2", id="rouge2"),
        pytest.param(Rouge(), "rouge_l", id="rougeL"),
        pytest.param(Meteor(), "meteor", id="meteor"),
    ],
)
def test_the_reference_pairs_have_their_scores(
    grader: OverlapGrader, score: str, pair: Reference
) -> None:
    if grader.expected_problem(pair.expected):
        pytest.skip("pairs of a single word")
    grade = grader.grade(view_of(pair.reply, expected=pair.expected))

    assert grade.score == pytest.approx(getattr(pair, score), abs=TOLERANCE)
    assert (grade.passed, grade.status) == (None, GradeStatus.OK)


@every_grader
def test_its_own_value_comes_before_the_expected_text(grader: OverlapGrader) -> None:
    own = grader.model_copy(update={"value": "the capital of France"})

    grade = own.grade(view_of("the capital of France", expected="Rome"))

    assert grade.score == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("grader", "reply", "shown"),
    [
        pytest.param(
            FuzzyMatch(),
            "Your refund is late.",
            "1 of 7|missing: the, comes, today|not expected: your, is, late",
            id="fuzzy_match",
        ),
        (TokenF1(), "Refund, refund!", "1 of 3|missing: comes, today|not expected: refund"),
        pytest.param(
            Bleu(),
            "The refund comes soon",
            "3 of 4 words|2 of 3 pairs|missing: today|not expected: soon",
            id="bleu",
        ),
        (Rouge(), "Is the refund coming?", "2 of 4|same order|missing: comes, today"),
        (Rouge(variant="rouge2"), "Is the refund coming?", "1 of 3|pairs|missing: c"),
        (Meteor(), "refunds comes", "2 of 4|1 as they are|1 by their stem|missing: the, today"),
    ],
)
def test_a_reason_tells_what_is_shared_and_what_is_not(
    grader: OverlapGrader, reply: str, shown: str
) -> None:
    reason = grader.grade(view_of(reply, expected="The refund comes today")).reason.lower()

    assert [part for part in shown.lower().split("|") if part not in reason] == []


@every_grader
def test_an_empty_reply_scores_0_and_says_so(grader: OverlapGrader) -> None:
    grade = grader.grade(view_of(" \n", expected="Paris"))

    assert grade.score == 0
    assert grade.reason == "The reply is empty; expected “Paris”."


@pytest.mark.parametrize("grader", [FuzzyMatch(), TokenF1()], ids=["fuzzy_match", "token_f1"])
def test_an_empty_text_is_like_an_empty_one_only(grader: OverlapGrader) -> None:
    assert grader.grade(view_of("", expected=" ")).score == 1
    assert grader.grade(view_of("Paris", expected="")).score == 0


@pytest.mark.parametrize(
    ("grader", "expected", "problem"),
    [
        pytest.param(Bleu(), " ", "The expected text is empty", id="bleu"),
        pytest.param(Rouge(), "", "The expected text is empty", id="rouge"),
        pytest.param(Meteor(), "\n", "The expected text is empty", id="meteor"),
        pytest.param(Rouge(), "東京", "Set tokenizer: unicode", id="another script"),
        pytest.param(Rouge(tokenizer="unicode"), "?!", "Choose another check", id="no word"),
        pytest.param(Rouge(variant="rouge2"), "Paris", "one word", id="pairs of one word"),
        pytest.param(FuzzyMatch(), "é" * 100_001, "200,002 bytes", id="too long"),
    ],
)
def test_what_no_reply_could_reach_is_no_silent_zero(
    grader: OverlapGrader, expected: str, problem: str
) -> None:
    grade = grader.grade(view_of("Paris", expected=expected))

    assert (grade.status, grade.cause, grade.score) == (GradeStatus.UNGRADED, Cause.CASE, None)
    assert problem in grade.reason
    assert grader.expected_problem(expected) == grade.reason


@pytest.mark.parametrize(
    ("grader", "warns"),
    [
        pytest.param(Rouge(value="東京"), True, id="another script"),
        pytest.param(Rouge(value="東京", tokenizer="unicode"), False, id="which is seen"),
        pytest.param(Rouge(value="Paris"), False, id="a word"),
        pytest.param(Rouge(), False, id="no value"),
        pytest.param(Bleu(value="東京"), False, id="BLEU sees all"),
    ],
)
def test_a_value_that_no_reply_could_reach_warns(grader: OverlapGrader, *, warns: bool) -> None:
    assert bool(grader.warnings()) is warns


def test_rouge_sees_other_scripts_if_that_is_asked_for() -> None:
    view = view_of("Париж и Рим", expected="Рим и Париж 5")

    assert Rouge().grade(view).score == 0
    grade = Rouge(tokenizer="unicode", variant="rouge1").grade(view)
    assert grade.score == pytest.approx(6 / 7)
    assert (grade.details["variant"], grade.details["tokenizer"]) == ("rouge1", "unicode")


def test_meteor_says_which_synonyms_it_knew() -> None:
    grade = Meteor().grade(view_of("Begin the task", expected="Start the job"))

    assert grade.details["variant"] == "wordnet3.0"
    assert "2 as synonyms" in grade.reason


@pytest.mark.usefixtures("_no_wordnet")
def test_meteor_reports_that_synonyms_were_not_looked_up() -> None:
    last = REFERENCES[-1]

    grade = Meteor().grade(view_of(last.reply, expected=last.expected))

    assert grade.score == pytest.approx(0.1250, abs=TOLERANCE)
    assert grade.details["variant"] == "no_synonyms"
    assert grade.reason.endswith("Synonyms were not looked up.")


@every_grader
def test_a_part_of_a_json_reply_can_be_compared(grader: OverlapGrader) -> None:
    part = grader.model_copy(update={"response_path": "answer.text"})
    expected = "the capital of France is Paris"

    grade = part.grade(view_of(f'{{"answer": {{"text": "{expected}"}}}}', expected=expected))
    absent = part.grade(view_of('{"answer": {}}', expected=expected))

    assert grade.score == pytest.approx(1, abs=0.01)
    assert grade.reason.startswith("At answer.text: ")
    assert (absent.score, absent.passed) == (0, None)


@pytest.mark.parametrize("options", [{"value": ""}, {"value": 5}, {"variant": "rouge3"}])
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Rouge.model_validate(options)


def test_f1_score_is_another_name_for_token_f1() -> None:
    assert AssertionSpec.model_validate({"type": "f1_score", "threshold": 0.5}).type == "token_f1"


@pytest.mark.parametrize(
    ("grader", "sentence"),
    [
        (FuzzyMatch(value="Paris"), "Reply is similar to “Paris” (shared words)"),
        (TokenF1(), "Reply is similar to the expected text (F1 of words)"),
        (Bleu(response_path="answer"), "Reply at answer is similar to the expected text (BLEU)"),
        (Rouge(value="x"), "Reply is similar to “x” (ROUGE-L)"),
        (Rouge(variant="rouge2"), "Reply is similar to the expected text (ROUGE-2)"),
        (Meteor(), "Reply is similar to the expected text (METEOR)"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(grader: OverlapGrader, sentence: str) -> None:
    assert grader.summary() == sentence
