"""The script that measures checks, at its smallest size."""

import pytest

from benchmarks.graders import long_pairs, measure, plain_graders, seconds, short_pairs
from evals_app.engine.graders import GRADERS, PlainGrader
from evals_app.engine.graders.kit.base import TextGrader
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.view import View


def test_every_check_that_asks_no_model_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    measure(pairs=20, rounds=1)

    table = capsys.readouterr().out
    plain = {kind for kind, grader in GRADERS.items() if issubclass(grader, PlainGrader)}
    assert "meteor" in plain
    assert {kind for kind in GRADERS if f"| `{kind}` |" in table} == plain


def test_only_some_are_measured_and_what_compares_reads_the_expected_text() -> None:
    contains, bleu = plain_graders(["bleu", "contains"])

    assert (contains[0], bleu[0]) == ("contains", "bleu")
    assert getattr(bleu[1], "value", "") is None


def test_long_pairs_are_different_and_alike() -> None:
    pairs = long_pairs(50)

    assert len(set(pairs)) == 50
    for reply, expected in pairs:
        same = sum(a == b for a, b in zip(reply.split(), expected.split(), strict=True))
        assert 20 < same < 60


class Broken(TextGrader):
    """Pass never."""

    label = "Broken"
    example = {}

    def grade_reply(self, reply: str, view: View) -> Grade:
        return Grade(None, None, "It broke.", GradeStatus.ERROR)


def test_a_broken_check_is_not_measured() -> None:
    with pytest.raises(SystemExit, match="Broken is in error: It broke"):
        seconds(Broken(), short_pairs(3), rounds=1)
