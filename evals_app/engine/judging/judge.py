"""A judge that asks a model, or a jury of several."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.answers.critiques import contradicts
from evals_app.engine.judging.answers.evidence import QuotableText, refuse_made_up
from evals_app.engine.judging.answers.flags import flags_of
from evals_app.engine.judging.answers.verdict import (
    JudgeVerdict,
    read_scripted,
    read_verdict,
    verdict_schema,
)
from evals_app.engine.judging.answers.votes import (
    all_at_once,
    calls_of,
    joint_verdict,
    poll,
    until_decided,
    votes_of,
)
from evals_app.engine.judging.checklist import tick_off
from evals_app.engine.judging.prompts.prompt import JudgePrompt, build_prompt
from evals_app.engine.record.aids import (
    ChecklistAnswer,
    ChecklistItem,
    ChecklistQuestion,
    JudgeAnswer,
    JudgeQuestion,
)
from evals_app.engine.record.judge_call import JudgeCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """Answer questions by asking models; equal inputs lead to equal prompts.

    `askers` is one model, or a jury, of which each has one vote. `judge_context` has its variables
    filled in. The reply of a scripted judge may be short: `pass`, `4`, for a rubric `pass` or
    `{"1": "pass", "2": "fail"}`; all its answers are labelled as scripted.

    Raises, when asked:
        JudgeError: refused, off the schema twice, cut off twice, or `cannot_grade`; of several
            votes over half failed, or they are tied.
        ProviderError: the model API did not serve a call.
    """

    askers: tuple[Asker, ...]
    judge_prompt: str = ""
    judge_context: str = ""

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        prompt = self._prompt(question)
        shown = QuotableText(prompt.pieces)
        voters = self._voters(question.votes)
        ballots = await poll(
            voters,
            partial(_verdict, prompt=prompt, question=question, shown=shown),
            next_round=until_decided if question.scale == "pass_fail" else all_at_once,
        )
        votes = votes_of(ballots) if len(voters) > 1 else ()
        try:
            verdict = joint_verdict(ballots, of=len(voters))
        except JudgeError as exc:
            exc.details |= {"votes": [asdict(vote) for vote in votes]} if votes else {}
            raise
        requirements, evidence = verdict.looked_up(shown)
        flags = flags_of(
            self.askers,
            question.view,
            is_suspected=any(
                ballot.answer and ballot.answer.injection_suspected for ballot in ballots
            ),
            evidence=evidence if verdict.wants_quotes else None,
            is_against=contradicts(verdict.critique, question.criteria, passed=verdict.is_met),
        )
        return JudgeAnswer(
            raw=verdict.raw,
            score=verdict.score,
            critique=verdict.critique,
            evidence=evidence,
            flags=flags,
            calls=calls_of(ballots),
            votes=votes,
            requirements=requirements,
        )

    async def tick_off(self, question: ChecklistQuestion) -> ChecklistAnswer:
        prompt_for = partial(self._prompt, question)
        return await tick_off(question, voters=self._voters(question.votes), prompt_for=prompt_for)

    def _voters(self, votes: int) -> tuple[Asker, ...]:
        voters = self.askers if len(self.askers) > 1 else self.askers * votes
        if len(voters) == 1:
            return voters
        return tuple(replace(voter, is_alone=False) for voter in voters)

    def _prompt(
        self, question: JudgeQuestion | ChecklistQuestion, items: Sequence[ChecklistItem] = ()
    ) -> JudgePrompt:
        return build_prompt(
            question,
            secret=self.askers[0].secret,
            judge_prompt=self.judge_prompt,
            judge_context=self.judge_context,
            items=items,
        )


async def _verdict(
    asker: Asker, *, prompt: JudgePrompt, question: JudgeQuestion, shown: QuotableText
) -> tuple[JudgeVerdict, tuple[JudgeCall, ...]]:
    scale = question.scale
    criteria = "\n".join([question.criteria, *question.anchors.values()])

    def read(text: str) -> JudgeVerdict:
        if asker.is_scripted:
            verdict = read_scripted(text, scale)
        else:
            verdict = read_verdict(text, scale, criteria=criteria, passing=question.passing)
        quotes = [(required.is_met, required.evidence) for required in verdict.looked_up(shown)[0]]
        refuse_made_up(
            shown,
            [quote for is_met, quote in quotes if quote and is_met],
            [quote for is_met, quote in quotes if quote and is_met is False],
        )
        return verdict

    asked = await asker.ask(prompt, schema=verdict_schema(scale), read=read)
    return asked.answer, asked.calls
