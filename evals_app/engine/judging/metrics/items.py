"""Many small verdicts: our own numbered list of items, and the judge's verdict on each.

Items are counted from our list, never from a reply. Verdicts are joined by id: of equal ones the
first counts, ids that we did not give are ignored. Items without a verdict, with verdicts that
contradict each other, and those whose verdict is invalid (its quote is made up), are asked about
again; those that then have none are UNDECIDED, which counts neither for the agent nor against it. Up to 40 items make a call; all calls are made side by
side.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.asking import MAX_OUTPUT_TOKENS, PromptText
from evals_app.engine.judging.answers.replies import (
    UNDECIDED,
    Form,
    Opinion,
    Reply,
    read_reply,
    read_scripted_reply,
)
from evals_app.engine.judging.prompts.context import WINDOW_BYTES, size
from evals_app.engine.judging.prompts.inquiry import Inquiry, side_by_side
from evals_app.engine.judging.text.blocks import escape_text
from evals_app.engine.judging.text.transcript import MAX_PIECE_CHARS, cut
from evals_app.engine.record.aids import ITEMS_A_CALL

MAX_ITEMS = 2000


class NumberedText(Protocol):
    """Something to judge, with the number by which a judge speaks of it."""

    @property
    def id(self) -> int: ...
    @property
    def text(self) -> str: ...


N = TypeVar("N", bound=NumberedText)


@dataclass(frozen=True, slots=True)
class ListedItem:
    """Something to judge; `text` is as shown. `heading` is written above it where it changes."""

    id: int
    text: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class ItemOpinions:
    """A judge's opinion on each item, by id; `about_all` is from the first call."""

    opinions: Mapping[int, Opinion]
    about_all: Mapping[str, str]


# Returns an opinion on an item with its evidence looked up, and an objection if it is invalid.
Weigh = Callable[[N, Opinion], Opinion]


def as_said(item: NumberedText, opinion: Opinion) -> Opinion:  # noqa: ARG001 - a Weigh
    """Accept an opinion without evidence to look up."""
    return opinion


@dataclass(frozen=True, slots=True)
class Task:
    """A question of a metric about many items; `block` is the one that lists them."""

    name: str
    rules: str
    form: Form
    block: str = "SEGMENTS"

    async def judge(
        self,
        items: Sequence[ListedItem],
        inquiry: Inquiry,
        blocks: Mapping[str, str],
        *,
        weigh: Weigh[ListedItem] = as_said,
    ) -> ItemOpinions:
        """Ask about all items, as `judge_items` does; `blocks` come before theirs."""

        def prompt_for(batch: Sequence[ListedItem]) -> PromptText:
            return inquiry.prompt(
                self.name,
                rules=self.rules,
                form=self.form.instructions(self.block),
                blocks={**blocks, self.block: written_items(batch, inquiry)},
            )

        return await judge_items(
            items,
            form=self.form,
            prompt_for=prompt_for,
            purpose=self.name.replace("_", " "),
            inquiry=inquiry,
            weigh=weigh,
        )


async def judge_items(
    items: Sequence[N],
    *,
    form: Form,
    prompt_for: Callable[[Sequence[N]], PromptText],
    purpose: str,
    inquiry: Inquiry,
    weigh: Weigh[N] = as_said,
) -> ItemOpinions:
    """Ask about all items, at least once.

    Raises:
        JudgeError: there are too many items, or one of the first calls failed.
        ProviderError: the model API did not serve a call.
    """
    if len(items) > MAX_ITEMS:
        raise JudgeError(
            f"There are {len(items):,} items to judge; a judge is asked about at most {MAX_ITEMS:,}."
        )
    question = _Question(form, prompt_for, purpose, weigh)
    parts = [partial(question.judge_batch, batch) for batch in batches(items)]
    judged = await side_by_side(inquiry, parts)
    opinions = {number: opinion for part in judged for number, opinion in part.opinions.items()}
    return ItemOpinions({item.id: opinions[item.id] for item in items}, judged[0].about_all)


@dataclass(frozen=True, slots=True)
class _Question(Generic[N]):
    """What all calls about a list of items have in common."""

    form: Form
    prompt_for: Callable[[Sequence[N]], PromptText]
    purpose: str
    weigh: Weigh[N]

    async def judge_batch(self, items: Sequence[N], inquiry: Inquiry) -> ItemOpinions:
        """Ask about the items of one call, and again about those that this leaves open."""
        reply = await self._reply(items, self.prompt_for(items), inquiry)
        opinions = self._weigh_reply(items, reply)
        is_open = [item for item in items if item.id not in opinions or opinions[item.id].objection]
        if is_open and not inquiry.is_scripted:  # a script would answer the same again
            with suppress(JudgeError):  # remaining open items stay open
                prompt = _again(self.prompt_for(is_open), opinions)
                again = await self._reply(is_open, prompt, inquiry)
                opinions |= self._weigh_reply(is_open, again)
        return ItemOpinions(
            {item.id: _final(opinions.get(item.id)) for item in items}, reply.about_all
        )

    def _weigh_reply(self, items: Sequence[N], reply: Reply) -> dict[int, Opinion]:
        given: dict[int, list[Opinion]] = {}
        for number, opinion in reply.opinions:
            given.setdefault(number, []).append(opinion)
        return {
            item.id: _find_contradiction(given[item.id]) or self.weigh(item, given[item.id][0])
            for item in items
            if item.id in given
        }

    async def _reply(self, items: Sequence[N], prompt: PromptText, inquiry: Inquiry) -> Reply:
        scripted = partial(read_scripted_reply, form=self.form, ids=[item.id for item in items])
        reply = await inquiry.ask(
            prompt,
            schema=self.form.schema,
            read=scripted if inquiry.is_scripted else partial(read_reply, form=self.form),
            purpose=self.purpose,
            max_output_tokens=max(MAX_OUTPUT_TOKENS, self.form.tokens_an_item * len(items)),
        )
        inquiry.injection_suspected |= reply.injection_suspected
        return reply


def _find_contradiction(opinions: Sequence[Opinion]) -> Opinion | None:
    """Return the opinion on an item that has different verdicts; None if they agree."""
    verdicts = list(dict.fromkeys(opinion.verdict for opinion in opinions))
    if len(verdicts) == 1:
        return None
    said = " and ".join(verdicts)
    return replace(opinions[0], objection=f"The judge gave it several verdicts: {said}.")


def _final(opinion: Opinion | None) -> Opinion:
    if opinion is None:
        return Opinion(UNDECIDED, objection="The judge gave no verdict.")
    return replace(opinion, verdict=UNDECIDED) if opinion.objection else opinion


def _again(prompt: PromptText, opinions: Mapping[int, Opinion]) -> PromptText:
    """Tell the judge why its opinions are invalid."""
    lines = [
        f"[{prompt.nonce} {number}] {escape_text(' '.join(opinion.objection.split()), prompt.nonce)}"
        for number, opinion in opinions.items()
        if opinion.objection
    ]
    if not lines:
        return prompt
    advice = (
        "You were asked about these before, and your answers below cannot stand. Look again: quote"
        " letter by letter what is there, or give another verdict."
    )
    return replace(prompt, user="\n".join([prompt.user, "", advice, *lines]))


def to_items(texts: Iterable[str], inquiry: Inquiry) -> list[ListedItem]:
    """Make items of texts, counted from 1."""
    return [
        ListedItem(number, cut(inquiry.escape(text), MAX_PIECE_CHARS))
        for number, text in enumerate(texts, 1)
    ]


def batches(items: Sequence[N]) -> Iterator[list[N]]:
    """Divide items among calls: up to 40, and up to a window of text."""
    batch: list[N] = []
    room = 0
    for item in items:
        room -= size(item.text)
        if batch and (room < 0 or len(batch) == ITEMS_A_CALL):
            yield batch
            batch = []
        if not batch:
            room = WINDOW_BYTES - size(item.text)
        batch.append(item)
    if batch:
        yield batch


def written_items(items: Sequence[ListedItem], inquiry: Inquiry) -> str:
    """Write items with their ids, behind the nonce: a text cannot fake the next one."""
    lines = []
    heading = ""
    for item in items:
        if item.heading != heading:
            heading = item.heading
            lines.append(f"[{inquiry.nonce} {heading}]")
        lines.append(f"[{inquiry.nonce} {item.id}] {item.text}")
    return "\n".join(lines)
