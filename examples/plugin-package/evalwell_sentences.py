"""A check, an agent and a report, as a package of your own offers them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from evals_app.engine.graders.kit.plugin import Cause, Field, Grade, TextGrader, View


class ShortSentences(TextGrader):
    """Pass when no sentence of the reply has more than `most` words.

    The score is the share of the sentences that are short enough.
    """

    label: ClassVar[str] = "Sentences are short"
    in_words: ClassVar[str] = "No sentence of the reply has more than 20 words."
    example: ClassVar[dict[str, object]] = {"most": 20}

    most: Annotated[int, Field(ge=1, title="Most words", description="Of one sentence.")] = 20

    def summary(self) -> str:
        """Return the check in a line."""
        return f"Sentences have at most {self.most} words"

    def grade_reply(self, reply: str, view: View) -> Grade:
        """Grade the text of a reply."""
        sentences = [part for part in re.split(r"[.!?]+", reply) if part.strip()]
        long = [part.strip() for part in sentences if len(part.split()) > self.most]
        score = 1 - len(long) / len(sentences) if sentences else 1.0
        if long:
            reason = f"{len(long)} of {len(sentences)} sentences are longer: “{long[0]}”."
            return Grade(score, False, reason, cause=Cause.ASSERTION)  # noqa: FBT003
        return Grade(score, True, "Every sentence is short.")  # noqa: FBT003


def parrot(message: str) -> str:
    """Return the reply to a message, as every agent in Python does."""
    return f"You said: {message}"


def one_line(results: Mapping[str, Any]) -> str:
    """Return a report of what `to_json` returns."""
    run = results["run"]
    return f"{run['suite']}: {run['verdict']}"
