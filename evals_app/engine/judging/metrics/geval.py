"""G-Eval: a grade by evaluation steps, weighted by how sure the judge is.

Source: Liu et al., G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment (2023).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, stdev

from evals_app.engine.judging.answers.asking import Asker, PromptText
from evals_app.engine.judging.answers.critiques import contradicts
from evals_app.engine.judging.answers.evidence import QuotableText, refuse_made_up
from evals_app.engine.judging.answers.verdict import (
    JudgeVerdict,
    fits_list,
    read_scripted,
    read_verdict,
    verdict_schema,
)
from evals_app.engine.judging.answers.votes import (
    Ballot,
    calls_of,
    joint_verdict,
    poll,
    refuse_ungraded,
    until_decided,
    votes_of,
)
from evals_app.engine.judging.answers.weighting import expected_grade, grade_probabilities
from evals_app.engine.judging.metrics.composing import NO_CONTEXT
from evals_app.engine.judging.metrics.steps import FIELDS, Recipe, Steps
from evals_app.engine.judging.prompts.beginning import as_contents
from evals_app.engine.judging.prompts.dialogue import as_shown, dialogue_of
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.prompts.prompt import (
    BY_REQUIREMENTS,
    FORM,
    GRADED,
    NOTHING_SHOWS_IT,
    SCORE_KEY,
)
from evals_app.engine.judging.text.transcript import MAX_TRANSCRIPT_CHARS, TranscriptPiece, cut
from evals_app.engine.record.aids import MetricScore, Scale, ShownField, StepsQuestion
from evals_app.engine.record.judge_call import JudgeCall
from fixtures_app.ground.strict_json import JsonObject

_GRADES: dict[Scale, range] = {"1-5": range(1, 6), "0-10": range(11)}
TOP_LOGPROBS = 20  # as many as APIs name
_NOTHING = "(empty)"

_RULES = """\
You grade the work of an AI agent, by {criterion} and nothing else. You see {fields}. Follow STEPS \
one after the other.

- Length, tone, formatting, confidence and claimed authority earn nothing unless {criterion} ask for \
them.
- What you are shown about the subject goes before what you know of it yourself.
- First list, as requirements, what {criterion} ask for. For each, copy the passage that decides it, \
letter by letter, two sentences at most, and name the block it stands in; if no passage bears on it, \
set absent to true and leave quote and where empty. Say whether it is met: "yes", "no", or \
"undecided" if what is shown does not decide it. Met only in part is "no". {nothing}"""

_SCALES: dict[Scale, str] = {
    "1-5": f"""\
The scale, as score: 5 fully meets them, 4 mostly, 3 partially, 2 mostly fails them, 1 completely \
fails them. {GRADED}""",
    "0-10": f"""\
The scale, as score: a whole number from 0, does not meet them at all, to 10, fully meets them. \
{GRADED}""",
    "pass_fail": BY_REQUIREMENTS,
}


async def measure_by_steps(
    question: StepsQuestion, inquiry: Inquiry, *, steps: Steps
) -> MetricScore:
    """Grade by steps: the score is E, the expected grade, moved to 0..1; strict, 1 or 0.

    E is weighted by the probabilities of the grades if the API reports them; otherwise it is the mean
    of the votes, or the one grade.

    Raises:
        JudgeError, ProviderError: there is no grade.
    """
    if "retrieval_context" in question.shown and question.view.retrieved_chunks() is None:
        return NO_CONTEXT
    model = str(inquiry.asker.model)
    recipe = Recipe(question.criteria, question.shown, model, scale=question.scale)
    used = question.steps or await steps.of(recipe, inquiry)
    prompt, pieces = _prompt(question, used, inquiry)
    shown = QuotableText(pieces)
    criteria = "\n".join([question.criteria, *used])
    grading = _Grading(prompt, question.scale, shown, criteria, question.passing)
    ballots = await grading.poll(inquiry.asker, votes=question.votes)
    inquiry.calls += calls_of(ballots)
    verdict, how = grading.outcome(ballots, of=question.votes)
    inquiry.injection_suspected |= any(
        ballot.answer.injection_suspected for ballot in ballots if ballot.answer
    )
    requirements, evidence = verdict.looked_up(shown)
    # Users and cases may well mention judges.
    seen = [piece.text for piece in pieces if piece.speaker == "CHUNKS"]
    details = {
        "raw": verdict.raw,
        "scale": grading.scale,
        **how,
        "steps": list(used),
        "steps_from": "check" if question.steps else "criteria",
        "shown": list(question.shown),
        "flags": inquiry.flags(
            question.view,
            seen=seen,
            evidence=evidence if verdict.wants_quotes else None,
            is_against=contradicts(verdict.critique, criteria, passed=verdict.is_met),
        ),
        "items": [
            requirement.as_item(number) for number, requirement in enumerate(requirements, 1)
        ],
    }
    reason = verdict.critique
    if grading.scale != "pass_fail":
        reason = f"{verdict.raw:.3g} of {_GRADES[grading.scale][-1]}. {reason}"
    return MetricScore(score=verdict.score, reason=reason, evidence=evidence, details=details)


@dataclass(slots=True)
class _Grading:
    """Votes on one question.

    `probabilities` are those of the grades where the first vote that has a grade came with them,
    empty where it did not.
    """

    prompt: PromptText
    scale: Scale
    shown: QuotableText
    criteria: str
    passing: float | None
    probabilities: dict[int, float] | None = None

    async def poll(self, asker: Asker, *, votes: int) -> list[Ballot[JudgeVerdict]]:
        """Ask; if the first reply reports probabilities, more votes would add nothing."""

        def next_round(ballots: Sequence[Ballot[JudgeVerdict]], left: int) -> int:
            if self.scale == "pass_fail":
                return until_decided(ballots, left)
            if not any(ballot.answer for ballot in ballots):
                return min(1, left)
            return 0 if self.probabilities else left

        voter = replace(asker, is_alone=votes == 1)
        return await poll([voter] * votes, self._ask, next_round=next_round)

    async def _ask(self, asker: Asker) -> tuple[JudgeVerdict, tuple[JudgeCall, ...]]:
        def read(text: str) -> JudgeVerdict:
            verdict = (
                read_scripted(text, self.scale)
                if asker.is_scripted
                else read_verdict(text, self.scale, criteria=self.criteria, passing=self.passing)
            )
            # Steps may compare the answer with any block, so the speaker does not matter.
            refuse_made_up(self.shown, (), verdict.looked_up(self.shown)[1])
            return verdict

        asked = await asker.ask(
            self.prompt,
            schema=verdict_schema(self.scale),
            read=read,
            purpose="G-Eval",
            top_logprobs=None if self.scale == "pass_fail" else TOP_LOGPROBS,
        )
        # Votes that were asked in parallel change nothing.
        if self.scale != "pass_fail" and self.probabilities is None:
            text, logprobs, grades = asked.reply.text, asked.reply.logprobs, _GRADES[self.scale]
            known = grade_probabilities(text, logprobs, written=asked.answer.raw, grades=grades)
            # A list in which nothing is met outweighs how likely a passing grade was.
            is_fair = known and fits_list(
                asked.answer.requirements, self._share(expected_grade(known)), self.passing
            )
            self.probabilities = known if known and is_fair else {}
        return asked.answer, asked.calls

    def outcome(
        self, ballots: Sequence[Ballot[JudgeVerdict]], *, of: int
    ) -> tuple[JudgeVerdict, JsonObject]:
        """Return the result of the votes, in the words of the nearest, and how it was reached.

        Raises:
            JudgeError, ProviderError: over half of the votes are not grades, or they are tied.
        """
        weighting = "logprobs" if self.probabilities else "votes" if of > 1 else "none"
        how: JsonObject = {"weighting": weighting}
        if of > 1:
            how["votes"] = [asdict(vote) for vote in votes_of(ballots)]
        if self.scale == "pass_fail":
            return joint_verdict(ballots, of=of), how
        refuse_ungraded(ballots, of=len(ballots))
        verdicts = [ballot.answer for ballot in ballots if ballot.answer]
        grades = [float(verdict.raw) for verdict in verdicts]
        expected = expected_grade(self.probabilities) if self.probabilities else fmean(grades)
        if self.probabilities:
            how["probabilities"] = {str(n): p for n, p in sorted(self.probabilities.items())}
        elif len(grades) > 1:
            how["deviation"] = stdev(grades)
        nearest = min(verdicts, key=lambda verdict: abs(float(verdict.raw) - expected))
        return replace(nearest, raw=expected, score=self._share(expected)), how

    def _share(self, grade: float) -> float:
        least, most = _GRADES[self.scale][0], _GRADES[self.scale][-1]
        return (grade - least) / (most - least)


def _prompt(
    question: StepsQuestion, steps: Sequence[str], inquiry: Inquiry
) -> tuple[PromptText, list[TranscriptPiece]]:
    """Write the question; also return what may be quoted from it, the answer first."""
    fields = _fields(question, inquiry)
    numbered = "\n".join(f"{n}. {inquiry.escape(step)}" for n, step in enumerate(steps, 1))
    criteria = inquiry.escape(question.criteria)
    criterion = "CRITERIA and STEPS" if criteria.strip() else "STEPS"
    seen = "; ".join(FIELDS[name] for name in FIELDS if name in question.shown)
    form = FORM.format(order=criterion, language=criterion)
    rules = _RULES.format(criterion=criterion, fields=seen, nothing=NOTHING_SHOWS_IT)
    prompt = inquiry.prompt(
        "geval",
        rules=f"{rules}\n\n{_SCALES[question.scale]}",
        form=form if question.scale == "pass_fail" else form + SCORE_KEY,
        blocks={"CRITERIA": criteria, "STEPS": numbered} | fields,
    )
    dialogue = dialogue_of(question.view)
    if "input" in question.shown:
        prompt = replace(prompt, files=as_contents(dialogue.files))
    replies = dialogue.replies
    answers = [replace(reply, text=as_shown(reply.text, inquiry)) for reply in replies]
    others = [
        TranscriptPiece(None, name, text) for name, text in fields.items() if name != "ANSWER"
    ]
    return prompt, [*answers, *others]


def _fields(question: StepsQuestion, inquiry: Inquiry) -> dict[str, str]:
    """Return the blocks of the fields that are shown."""
    view = question.view
    dialogue = dialogue_of(view)

    def numbered_lines(texts: Sequence[str]) -> str:
        entries = [f"[{inquiry.nonce} {n}]\n{inquiry.escape(t)}" for n, t in enumerate(texts, 1)]
        return cut("\n\n".join(entries), MAX_TRANSCRIPT_CHARS) or _NOTHING

    texts: dict[ShownField, Callable[[], str]] = {
        "input": lambda: as_shown(dialogue.question, inquiry),
        "expected_output": lambda: as_shown(view.expected_value(None), inquiry),
        "context": lambda: numbered_lines(view.context or ()),
        "retrieval_context": lambda: numbered_lines(
            [chunk.text for chunk in view.retrieved_chunks() or ()]
        ),
        "actual_output": lambda: as_shown(dialogue.answer, inquiry),
    }
    return {
        FIELDS[name].partition(",")[0]: write() or _NOTHING
        for name, write in texts.items()
        if name in question.shown
    }
