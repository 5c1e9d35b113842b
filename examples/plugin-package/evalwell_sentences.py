"""A check, an agent, a report, a judge and a reader, as a package of your own offers them."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from evalwell.plugins import (
    Cause,
    Field,
    FileReader,
    FileReport,
    FileToRead,
    Grade,
    JudgeRequest,
    Problem,
    ReadPart,
    TextGrader,
    View,
    single_verdict,
)


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


def write_line(results: Mapping[str, Any]) -> str:
    """Return a report of what `to_json` returns."""
    run = results["run"]
    return f"{run['suite']}: {run['verdict']}"


one_line = FileReport(title="The verdict in a line (text)", write=write_line)


def courtesy(request: JudgeRequest) -> Mapping[str, Any]:
    """Judge without a model: whether the reply thanks or says please, whatever the criteria are."""
    said = re.search(
        r"[^\n.!?]*\b(?:please|thank)\b[^\n.!?]*", request.block("SUBMISSION"), re.IGNORECASE
    )
    return single_verdict(
        request,
        requirement=request.block("CRITERIA") or "The reply is polite.",
        is_met=said is not None,
        critique="It has a polite word." if said else "It has no polite word.",
        quote=said[0].strip() if said else "",
        score=(5 if said else 1) if request.wants_score else None,
    )


def read_quiz(file: FileToRead) -> Iterator[ReadPart | Problem]:
    """Read a quiz: each `Q:` is a question to the agent, the `A:` below it a text in its reply."""
    cases: list[dict[str, Any]] = []
    places: dict[tuple[str | int, ...], tuple[int, int]] = {(): (1, 1)}
    for number, line in enumerate(file.text.splitlines(), 1):
        kind, _, text = (part.strip() for part in line.partition(":"))
        if kind == "Q":
            places["cases", len(cases)] = (number, 1)
            cases.append({"name": text, "turns": [{"user": text, "assertions": []}]})
        elif kind == "A" and cases:
            cases[-1]["turns"][0]["assertions"].append({"type": "contains", "value": text})
        elif line.strip():
            yield file.problem("Expected Q: or A:, with a question first.", line=number, found=line)
    if cases:
        yield ReadPart({"suite": file.name.capitalize(), "cases": cases}, places)


quiz = FileReader(
    title="Quiz",
    about="Questions and answers in a .quiz.txt file. Each question is a case.",
    files=("*.quiz.txt",),
    read=read_quiz,
    sample=(("capitals.quiz.txt", "Q: What is the capital of France?\nA: Paris\n"),),
)
