"""Graders of how much the reply shares with an expected text: scores that need a threshold."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evals_app.engine.graders.kit.base import FROM_TURN, MAX_TEXT_BYTES, length_problem
from evals_app.engine.graders.kit.json_paths import PathGrader, ResponsePath, place_of
from evals_app.engine.graders.measures import bags, rouge, wordnet
from evals_app.engine.graders.measures.bags import Overlap
from evals_app.engine.graders.measures.bleu import bleu
from evals_app.engine.graders.measures.bleu import words as bleu_words
from evals_app.engine.graders.measures.meteor import Alignment, meteor
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list
from fixtures_app.ground.strict_json import JsonObject

_WORD_CHARS = 40
_RUNS = ("word", "pair", "run of three", "run of four")


class OverlapGrader(PathGrader):
    """A grader that compares the reply with an expected text and only scores."""

    family: ClassVar[Literal["overlap"]] = "overlap"
    uses_expected: ClassVar[bool] = True
    only_scores: ClassVar[bool] = True
    most_bytes: ClassVar[int | None] = MAX_TEXT_BYTES
    measure: ClassVar[str]
    knows_empty: ClassVar[bool] = False  # an empty reply is similar to an empty text

    value: Annotated[
        str | None, FROM_TURN, Field(title="Expected text", json_schema_extra={"rows": 3})
    ] = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        expected = view.expected_value(self.value)
        if problem := self.expected_problem(expected):
            return Grade.without_result(Cause.CASE, problem)
        grade = self.compare(reply, expected)
        if grade.score or reply.strip():
            return grade
        return grade.but(reason=f"The reply is empty; expected {in_quotes(expected)}.")

    @abstractmethod
    def compare(self, reply: str, expected: str) -> Grade:
        """Score a reply; both texts are of bounded size."""

    def expected_problem(self, expected: str) -> str | None:
        if problem := length_problem(expected, MAX_TEXT_BYTES, subject="The expected text"):
            return problem
        if not (self.knows_empty or expected.strip()):
            return "The expected text is empty, so no reply can be similar to it."
        return None

    def warnings(self) -> list[str]:
        problem = None if self.value is None else self.expected_problem(self.value)
        return [problem] if problem else []

    def summary(self) -> str:
        expected = in_quotes(self.value) if self.value else "the expected text"
        return f"Reply{place_of(self)} is similar to {expected} ({self.measured_by})"

    @property
    def measured_by(self) -> str:
        """Name the measure as this check uses it."""
        return self.measure


class FuzzyMatch(OverlapGrader):
    """Pass when the reply has most of the expected words and few others, in any order.

    The score is the share of all different words that are in both texts (Jaccard). A `threshold`
    makes it a verdict. Words are runs of letters and digits in any script; case and encoding do not
    matter. In scripts without spaces, a run of characters is one word. Texts without any words score
    1 if they are equal, otherwise 0.
    """

    label: ClassVar[str] = "Reply shares words"
    in_words: ClassVar[str] = "The reply uses most words of “Your refund is on its way”."
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    measure: ClassVar[str] = "shared words"
    knows_empty: ClassVar[bool] = True
    example: ClassVar[dict[str, object]] = {"value": "The refund is on its way."}

    response_path: ResponsePath = None

    def compare(self, reply: str, expected: str) -> Grade:
        given = dict.fromkeys(bags.unicode_words(reply))
        wanted = dict.fromkeys(bags.unicode_words(expected))
        if not given and not wanted:
            return _without_words(is_same=reply.strip() == expected.strip())
        shared = Overlap(len(given.keys() & wanted.keys()), len(given), len(wanted))
        every = len(given) + len(wanted) - shared.shared
        difference = _difference(
            [word for word in wanted if word not in given],
            [word for word in given if word not in wanted],
        )
        reason = f"{shared.shared} of {_count_text(every, 'different word')} {_are(shared.shared)} in both texts{difference}."
        return Grade.of_score(shared.shared / every, reason, **_facts(shared))


class TokenF1(OverlapGrader):
    """Pass when the reply has most of the expected words and few others, counting repeats.

    The score is the harmonic mean of two shares: of the reply's words that are expected, and of the
    expected words that the reply has. A `threshold` makes it a verdict. Words are separated by
    spaces; case, ASCII punctuation, and a, an and the are ignored. Empty text only matches empty text.
    """

    label: ClassVar[str] = "Reply shares words (F1)"
    in_words: ClassVar[str] = "The reply has the words of the expected answer and few others."
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    measure: ClassVar[str] = "F1 of words"
    knows_empty: ClassVar[bool] = True
    example: ClassVar[dict[str, object]] = {"value": "The refund is on its way."}

    response_path: ResponsePath = None

    def compare(self, reply: str, expected: str) -> Grade:
        given, wanted = bags.answer_words(reply), bags.answer_words(expected)
        if not given and not wanted:
            return _without_words(is_same=True)
        return _of_words(given, wanted)


class Bleu(OverlapGrader):
    """Pass when sequences of the reply's words also appear in the expected text.

    The score is BLEU: the geometric mean of the shares of its words, pairs, triples and quadruples
    that do, with a penalty for a reply that is too short. A `threshold` makes it a verdict. Case and
    punctuation count. The values equal those of sacreBLEU's `sentence_bleu` (13a, `exp`).
    """

    label: ClassVar[str] = "Reply is similar to a text (BLEU)"
    in_words: ClassVar[str] = "A translation has the same groups of words as the expected one."
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    measure: ClassVar[str] = "BLEU"
    example: ClassVar[dict[str, object]] = {"value": "The refund is on its way."}

    response_path: ResponsePath = None

    def compare(self, reply: str, expected: str) -> Grade:
        result = bleu(reply, expected)
        given, wanted = bleu_words(reply), bleu_words(expected)
        shares = [
            f"{runs.shared} of {_count_text(runs.in_reply, name)}"
            for runs, name in zip(result.shared, _RUNS, strict=False)
        ]
        difference = _difference(bags.difference(wanted, given), bags.difference(given, wanted))
        words, *runs = shares or ["0 words"]
        in_order = f" In the same order: {join_list(runs)}." if runs else ""
        return Grade.of_score(
            result.score,
            f"The expected text has {words} of the reply{difference}.{in_order}",
            brevity_penalty=round(result.brevity_penalty, 4),
            precisions=[round(runs.precision, 4) for runs in result.shared],
        )


class Rouge(OverlapGrader):
    """Pass when the reply covers the words of the expected text.

    The score is ROUGE: the harmonic mean (F1) of the shares of each text that appear in the other,
    without stemming. A `threshold` makes it a verdict. `rouge1` counts words, `rouge2` pairs of
    neighbouring words, `rougeL` the longest sequence of words that both have in the same order.
    """

    label: ClassVar[str] = "Reply is similar to a text (ROUGE)"
    in_words: ClassVar[str] = "A summary covers what the expected summary says."
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    example: ClassVar[dict[str, object]] = {
        "value": "The refund is on its way.",
        "variant": "rougeL",
    }

    variant: Annotated[
        rouge.Variant,
        Field(
            title="What is counted",
            json_schema_extra={
                "words": {
                    "rouge1": "Words",
                    "rouge2": "Pairs of neighbouring words",
                    "rougeL": "The longest common sequence of words",
                }
            },
        ),
    ] = "rougeL"
    tokenizer: Annotated[
        rouge.Tokenizer,
        Field(
            title="Which words count",
            json_schema_extra={
                "advanced": True,
                "words": {
                    "ascii": "Only a-z and 0-9, the standard",
                    "unicode": "Words in every script",
                },
            },
        ),
    ] = "ascii"
    response_path: ResponsePath = None

    def compare(self, reply: str, expected: str) -> Grade:
        given, wanted = (rouge.words(text, self.tokenizer) for text in (reply, expected))
        if self.variant == "rouge1":
            grade = _of_words(given, wanted)
        else:
            overlap = rouge.rouge(given, wanted, self.variant)
            difference = _difference(bags.difference(wanted, given), bags.difference(given, wanted))
            if self.variant == "rouge2":
                grade = _score_grade(overlap, "pair of neighbouring words", difference)
            else:
                grade = _score_grade(overlap, "word", f" in the same order{difference}")
        return grade.but(
            details=grade.details | {"variant": self.variant, "tokenizer": self.tokenizer}
        )

    def expected_problem(self, expected: str) -> str | None:
        if problem := super().expected_problem(expected):
            return problem
        words = rouge.words(expected, self.tokenizer)
        if self.variant == "rouge2" and len(words) == 1:
            one = f"The expected text {in_quotes(expected)} is one word; ROUGE-2 compares pairs of words."
            return f"{one} Set variant to rouge1 or rougeL."
        if words:
            return None
        if rouge.words(expected, "unicode"):
            hint = "Only a-z and 0-9 are read. Set tokenizer: unicode."
        else:
            hint = "Choose another check."
        return f"ROUGE finds no words in the expected text {in_quotes(expected)}. {hint}"

    @property
    def measured_by(self) -> str:
        return self.variant.replace("rouge", "ROUGE-")


class Meteor(OverlapGrader):
    """Pass when the reply has the expected words, their inflections or synonyms, in a similar order.

    The score is METEOR: a weighted mean of both shares, in which the expected words count nine times
    as much, reduced by up to half if the matches are scattered. A `threshold` makes it a verdict.
    English only; punctuation counts as words. Equal texts score slightly below 1, a single word 0.5.
    Synonyms need the WordNet files (Debian: `wordnet-base`); the details show `wordnet3.0` or
    `no_synonyms`. The values equal those of NLTK's `single_meteor_score`.
    """

    label: ClassVar[str] = "Reply is similar to a text (METEOR)"
    in_words: ClassVar[str] = "A translation says the same, word order and endings aside."
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    measure: ClassVar[str] = "METEOR"
    example: ClassVar[dict[str, object]] = {"value": "The refund is on its way."}

    response_path: ResponsePath = None

    def compare(self, reply: str, expected: str) -> Grade:
        known = wordnet.find_wordnet()
        alignment = meteor(reply, expected, synonyms=known.synonyms if known else None)
        words = _count_text(alignment.in_expected, "expected word")
        reason = f"{alignment.matches} of {words} {_are(alignment.matches)} in the reply"
        reason += f"{_how(alignment)}{_difference(list(alignment.missing), [])}."
        if known is None:
            reason += " Synonyms were not looked up."
        return Grade.of_score(
            alignment.score,
            reason,
            precision=round(alignment.precision, 4),
            recall=round(alignment.recall, 4),
            runs=alignment.runs,
            variant=known.variant if known else "no_synonyms",
        )


def _without_words(*, is_same: bool) -> Grade:
    reason = f"Neither text has any words; they are {'' if is_same else 'not '}the same."
    return Grade.of_score(float(is_same), reason, **_facts(Overlap(0, 0, 0)))


def _of_words(given: list[str], wanted: list[str]) -> Grade:
    missing, surplus = bags.difference(wanted, given), bags.difference(given, wanted)
    overlap = Overlap(len(given) - len(surplus), len(given), len(wanted))
    return _score_grade(overlap, "word", _difference(missing, surplus))


def _score_grade(overlap: Overlap, counted: str, difference: str) -> Grade:
    expected = _count_text(overlap.in_expected, f"expected {counted}")
    reason = f"{overlap.shared} of {expected} {_are(overlap.shared)} in the reply{difference}."
    return Grade.of_score(overlap.f1, reason, **_facts(overlap))


def _difference(missing: list[str], surplus: list[str]) -> str:
    lists = {"missing": missing, "not expected": surplus}
    return "".join(
        f"; {name}: {join_list([cut_middle(word, _WORD_CHARS) for word in words])}"
        for name, words in lists.items()
        if words
    )


def _how(alignment: Alignment) -> str:
    """Describe how words match, and in how many separate places."""
    ways = {
        "as they are": alignment.same,
        "by their stem": alignment.by_stem,
        "as synonyms": alignment.by_synonym,
    }
    how = [f"{count} {way}" for way, count in ways.items() if count]
    if not how:
        return ""
    places = f", in {alignment.runs} separate places" if alignment.runs > 1 else ""
    return f" ({join_list(how)}{places})"


def _facts(overlap: Overlap) -> JsonObject:
    return {
        "shared": overlap.shared,
        "precision": round(overlap.precision, 4),
        "recall": round(overlap.recall, 4),
    }


def _count_text(count: int, noun: str) -> str:
    """Write a count with its noun; in `pair of words` the first word takes the s."""
    head, of, rest = noun.partition(" of ")
    return f"{count:,} {head}{'' if count == 1 else 's'}{of}{rest}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
