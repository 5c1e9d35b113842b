"""Many small verdicts: our own numbered list of items, and what a judge says of each.

What is counted comes from our list, never from a reply. Verdicts are joined by id: the first of an
id counts, ids that we did not give are ignored, items without a verdict are asked about once more.
If more than a fifth still has none the judge has failed; fewer are MISSING, which counts against the
score. A call has up to 40 items.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from evals_app.engine.aids import ITEMS_A_CALL
from evals_app.engine.errors import JudgeError
from evals_app.engine.judging.asking import MAX_OUTPUT_TOKENS, Prompt
from evals_app.engine.judging.context import WINDOW_BYTES, size
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.replies import (
    Form,
    Opinion,
    Reply,
    read_reply,
    read_scripted_reply,
)
from evals_app.engine.judging.transcript import MAX_PIECE_CHARS, cut

MOST_ITEMS = 2000
MOST_MISSING = 0.2
MISSING = "missing"
_TOKENS_AN_ITEM = 150


@dataclass(frozen=True, slots=True)
class Item:
    """Something to judge; `text` is as shown. `heading` is written above it where it changes."""

    id: int
    text: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge says of each item, by id; `about_all` is from the first call."""

    opinions: Mapping[int, Opinion]
    about_all: Mapping[str, str]


async def judge_items(
    items: Sequence[Item],
    *,
    form: Form,
    prompt_for: Callable[[Sequence[Item]], Prompt],
    purpose: str,
    inquiry: Inquiry,
) -> Judged:
    """Ask about all items, at least once.

    Raises:
        JudgeError: there are too many items, one of the first calls came to nothing, or more than a
            fifth of the items still has no verdict after asking again.
        ProviderError: the model API did not serve a call.
    """
    if len(items) > MOST_ITEMS:
        message = f"There are {len(items):,} items to judge; a judge is asked about {MOST_ITEMS:,}."
        raise JudgeError(message)
    opinions: dict[int, Opinion] = {}
    about_all: dict[str, str] = {}

    async def ask_about(asked: Sequence[Item]) -> None:
        for batch in batches(asked):
            ids = [item.id for item in batch]
            prompt = prompt_for(batch)
            reply = await _reply(ids, prompt, form=form, purpose=purpose, inquiry=inquiry)
            for key, word in reply.about_all.items():
                about_all.setdefault(key, word)
            for each, opinion in reply.opinions:
                if each in ids:
                    opinions.setdefault(each, opinion)

    await ask_about(items)
    if not inquiry.is_scripted:  # a script would say the same again
        with suppress(JudgeError):  # what is then still missing counts as such
            await ask_about([item for item in items if item.id not in opinions])
    missing = len(items) - len(opinions)
    if missing > MOST_MISSING * len(items):
        raise JudgeError(f"The judge gave no verdict on {missing} of {len(items)} items.")
    return Judged({item.id: opinions.get(item.id, Opinion(MISSING)) for item in items}, about_all)


async def _reply(
    ids: Sequence[int], prompt: Prompt, *, form: Form, purpose: str, inquiry: Inquiry
) -> Reply:
    """Ask about the items of one call."""
    scripted = partial(read_scripted_reply, form=form, ids=ids)
    asked = await inquiry.ask(
        prompt,
        schema=form.schema,
        read=scripted if inquiry.is_scripted else partial(read_reply, form=form),
        purpose=purpose,
        max_output_tokens=max(MAX_OUTPUT_TOKENS, _TOKENS_AN_ITEM * len(ids)),
    )
    inquiry.injection_suspected |= asked.answer.injection_suspected
    return asked.answer


def numbered(texts: Iterable[str], inquiry: Inquiry) -> list[Item]:
    """Make items of texts, counted from 1."""
    return [
        Item(number, cut(inquiry.escaped(text), MAX_PIECE_CHARS))
        for number, text in enumerate(texts, 1)
    ]


def batches(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Divide items among calls: up to 40, and up to a window of text."""
    batch: list[Item] = []
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


def written_items(items: Sequence[Item], inquiry: Inquiry) -> str:
    """Write items with their ids, behind the nonce: a text cannot fake the next one."""
    lines = []
    heading = ""
    for item in items:
        if item.heading != heading:
            heading = item.heading
            lines.append(f"[{inquiry.nonce} {heading}]")
        lines.append(f"[{inquiry.nonce} {item.id}] {item.text}")
    return "\n".join(lines)
