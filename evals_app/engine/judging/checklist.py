"""A checklist as judges tick it off: which of its items does the answer meet?"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import get_args

from evals_app.engine.basics.errors import JudgeError, ProviderError
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.answers.critiques import contradicts
from evals_app.engine.judging.answers.evidence import QuotableText, objection
from evals_app.engine.judging.answers.flags import flags_of
from evals_app.engine.judging.answers.replies import CANNOT_GRADE, UNDECIDED, Form, Opinion
from evals_app.engine.judging.answers.votes import (
    Ballot,
    all_at_once,
    calls_of,
    poll,
    refuse_ungraded,
)
from evals_app.engine.judging.metrics.items import ItemOpinions, judge_items
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.prompts.prompt import JudgePrompt
from evals_app.engine.judging.text.languages import is_conditional, is_forbidding
from evals_app.engine.record.aids import (
    ChecklistAnswer,
    ChecklistItem,
    ChecklistQuestion,
    Tick,
    TickedItem,
)
from evals_app.engine.record.grade import Evidence
from evals_app.engine.record.judge_call import JudgeCall

CHECKLIST = Form(("pass", "fail", "not_applicable", CANNOT_GRADE), is_explained=True, key="items")
_TICKS: dict[str, Tick] = {tick: tick for tick in get_args(Tick)}

PromptFor = Callable[[Sequence[ChecklistItem]], JudgePrompt]


async def tick_off(
    question: ChecklistQuestion, *, voters: Sequence[Asker], prompt_for: PromptFor
) -> ChecklistAnswer:
    """Ask each voter about all items, and take the majority on each.

    Raises:
        JudgeError, ProviderError: over half of the votes failed.
    """
    whole = prompt_for(question.items)
    shown = QuotableText(whole.pieces)
    orders = _orders(question.items, whole.nonce)

    async def ask(asker: Asker) -> tuple[tuple[ItemOpinions, bool], tuple[JudgeCall, ...]]:
        inquiry = Inquiry(asker, whole.nonce)
        items = question.items if asker.is_scripted else next(orders)
        try:
            judged = await judge_items(
                items,
                form=CHECKLIST,
                prompt_for=prompt_for,
                purpose="rubric",
                inquiry=inquiry,
                weigh=partial(_weigh_opinion, shown=shown, is_scripted=asker.is_scripted),
            )
        except (JudgeError, ProviderError) as exc:
            exc.calls = tuple(inquiry.calls)
            raise
        return (judged, inquiry.injection_suspected), tuple(inquiry.calls)

    ballots = await poll(voters, ask, next_round=all_at_once)
    refuse_ungraded(ballots, of=len(voters))
    return _answer(question, ballots, voters)


def _orders(items: Sequence[ChecklistItem], nonce: str) -> Iterator[list[ChecklistItem]]:
    """Yield an order for each vote: the author's first, then others, so that no item's place helps it.

    Items under the same headings stay together.
    """
    yield list(items)
    groups = [list(group) for _, group in groupby(items, key=lambda item: item.under)]
    draw = random.Random(nonce)
    while True:
        for group in groups:
            draw.shuffle(group)
        draw.shuffle(groups)
        yield [item for group in groups for item in group]


def _weigh_opinion(
    item: ChecklistItem, opinion: Opinion, *, shown: QuotableText, is_scripted: bool
) -> Opinion:
    """Look the quote up, and note what contradicts the verdict."""
    has_quote = bool(opinion.quote.strip())
    evidence = shown.look_up(opinion.quote, str(item.id)) if has_quote else None
    problem = _against_verdict(item, opinion.verdict, evidence)
    if opinion.verdict == "pass" and not (has_quote or is_scripted or _is_met_by_nothing(item)):
        problem = "It asks for something, so a pass needs a quote: the passage that shows it."
    return replace(opinion, evidence=evidence, objection=problem or "")


def _against_verdict(item: ChecklistItem, verdict: str, evidence: Evidence | None) -> str | None:
    if verdict == "not_applicable" and not any(map(is_conditional, _with_headings(item))):
        return "It sets no condition, so it applies to every answer: say pass or fail."
    if evidence is None or verdict not in {"pass", "fail"}:
        return None
    # The user's request may show what is missed.
    is_fair = verdict == "fail" and evidence.is_verified
    return None if is_fair else objection(evidence)


def _is_met_by_nothing(item: ChecklistItem) -> bool:
    """Return whether an item forbids something or sets a condition, which need not arise."""
    return any(is_forbidding(text) or is_conditional(text) for text in _with_headings(item))


def _with_headings(item: ChecklistItem) -> list[str]:
    """Return an item, and what introduces it: headings, and lines that end with a colon."""
    above = [line for line in item.under if line.startswith("#") or line.rstrip().endswith(":")]
    return [item.text, *above]


def _answer(
    question: ChecklistQuestion,
    ballots: Sequence[Ballot[tuple[ItemOpinions, bool]]],
    voters: Sequence[Asker],
) -> ChecklistAnswer:
    voted = [ballot.answer[0].opinions if ballot.answer else {} for ballot in ballots]
    opinions = {
        item.id: merge_votes([votes.get(item.id) for votes in voted]) for item in question.items
    }
    is_voted = len(voters) > 1
    items = tuple(
        TickedItem(
            number,
            _TICKS.get(opinion.verdict),
            _words(opinion),
            opinion.evidence,
            tuple(_TICKS.get(votes[number].verdict) if votes else None for votes in voted)
            if is_voted
            else (),
        )
        for number, opinion in opinions.items()
    )
    evidence = [opinion.evidence for opinion in opinions.values() if opinion.evidence]
    # Something missing cannot be quoted; something present can.
    expects_quotes = any(opinion.verdict == "pass" for opinion in opinions.values())
    flags = flags_of(
        voters,
        question.view,
        is_suspected=any(ballot.answer is not None and ballot.answer[1] for ballot in ballots),
        evidence=evidence if evidence or expects_quotes else None,
        is_against=any(_is_against(item, opinions[item.id]) for item in question.items),
    )
    models = tuple(ballot.model for ballot in ballots) if is_voted else ()
    return ChecklistAnswer(items, flags, calls_of(ballots), models)


def _is_against(item: ChecklistItem, opinion: Opinion) -> bool:
    """Return whether the words about an item say the opposite of its verdict."""
    passed = {"pass": True, "fail": False}.get(opinion.verdict)
    return contradicts(opinion.critique, "\n".join(_with_headings(item)), passed=passed)


def _words(opinion: Opinion) -> str:
    """Explain why an item is undecided, or else return the judge's critique."""
    if opinion.verdict != UNDECIDED:
        return opinion.critique
    return opinion.objection or opinion.critique or "The judge could not decide it."


def merge_votes(votes: Sequence[Opinion | None]) -> Opinion:
    """Return the joint opinion of votes on one item: the majority of those that decide.

    Undecided if over half decide nothing, or if they are tied. The words are those of the first vote
    with that verdict.
    """
    given = [opinion for opinion in votes if opinion is not None]
    counts = Counter(opinion.verdict for opinion in given if opinion.verdict != UNDECIDED)
    ahead = counts.most_common(2)
    if not ahead or 2 * (len(votes) - counts.total()) > len(votes):
        return next(
            (opinion for opinion in given if opinion.verdict == UNDECIDED),
            Opinion(UNDECIDED, objection="The judge gave no verdict."),
        )
    if len(ahead) > 1 and ahead[0][1] == ahead[1][1]:
        return Opinion(UNDECIDED, objection="The votes are tied.")
    return next(opinion for opinion in given if opinion.verdict == ahead[0][0])
