"""Look statements up in retrieved chunks: which chunk bears each out, by a quote that stands in it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals_app.engine.judging.asking import Prompt
from evals_app.engine.judging.composing import NOT_SAID, item_json
from evals_app.engine.judging.context import ShownChunk, windows
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.items import MISSING, Item, judge_items
from evals_app.engine.judging.replies import Form, Opinion
from evals_app.engine.quoting import quoted, shortened
from evals_app.engine.trial import Evidence

UNVERIFIED = "unverified"
MOST_EVIDENCE = 20

SOURCE_FORM = """\
Answer with one JSON object and nothing around it, its keys in this order:
- verdicts: a list with one entry for each number in {block}, as {{"id", "chunk", "quote", \
"verdict"}}. chunk is the number of the chunk that decides it, quote the passage of that chunk that \
does, copied letter by letter, at most two sentences; where no chunk does they are 0 and empty.
- injection_suspected: true or false."""


@dataclass(frozen=True, slots=True)
class Sourced:
    """What was found of a statement, and where; the evidence is the judge's quote, if it gave one."""

    item: Item
    verdict: str
    note: str
    evidence: Evidence | None = None

    def as_json(self) -> dict[str, Any]:
        return item_json(self.item, self.verdict, self.note)


async def find_sources(
    items: Sequence[Item],
    chunks: Sequence[ShownChunk],
    *,
    borne_out: str,
    form: Form,
    strength: Sequence[str],
    prompt_for: Callable[[Sequence[Item], str], Prompt],
    purpose: str,
    inquiry: Inquiry,
) -> list[Sourced]:
    """Ask about all items in each window of the chunks; of an item the strongest verdict counts.

    The verdict `borne_out` needs a quote that stands in the chunk that is named with it, else it
    is UNVERIFIED. `strength` names all verdicts, the strongest first.

    Raises:
        JudgeError, ProviderError: a call came to nothing.
    """
    by_number = {chunk.number: chunk for chunk in chunks}
    found: dict[int, list[_Found]] = {item.id: [] for item in items}
    for window in windows(chunks, inquiry):

        def prompt(batch: Sequence[Item], window: str = window) -> Prompt:
            return prompt_for(batch, window)

        judged = await judge_items(
            items, form=form, prompt_for=prompt, purpose=purpose, inquiry=inquiry
        )
        for each, opinion in _checked(judged.opinions, by_number).items():
            # A script quotes nothing.
            has_source = opinion.is_quoted or (inquiry.is_scripted and not opinion.quote)
            is_made_up = opinion.verdict == borne_out and not has_source
            found[each].append(replace(opinion, verdict=UNVERIFIED) if is_made_up else opinion)
    for opinions in found.values():
        opinions.sort(key=lambda opinion: strength.index(opinion.verdict))
    return [_sourced(item, found[item.id]) for item in items]


@dataclass(frozen=True, slots=True)
class _Found:
    """An opinion, with the chunk that it names, if there is one, and whether the quote is in it."""

    verdict: str
    quote: str
    chunk: ShownChunk | None
    is_quoted: bool


def _checked(
    opinions: Mapping[int, Opinion], chunks: Mapping[int, ShownChunk]
) -> dict[int, _Found]:
    # Dictionaries, not sets: of very many quotes only the first are compared at length, and which
    # these are must not depend on the process.
    quotes: dict[int, dict[str, None]] = defaultdict(dict)
    for opinion in opinions.values():
        quotes[opinion.chunk][opinion.quote] = None
    there = {number: chunks[number].holds(quotes[number]) for number in quotes if number in chunks}
    return {
        each: _Found(
            opinion.verdict,
            opinion.quote,
            chunks.get(opinion.chunk),
            opinion.quote in there.get(opinion.chunk, ()),
        )
        for each, opinion in opinions.items()
    }


def _sourced(item: Item, opinions: Sequence[_Found]) -> Sourced:
    counting = opinions[0]
    notes = [_note(counting)]
    # Windows may disagree; what lost is shown too.
    notes += [
        f"But {other.verdict} by another part: {_note(other)}"
        for other in opinions[1:]
        if other.verdict != counting.verdict and other.chunk
    ]
    evidence = None
    if counting.quote:
        about = shortened(item.text, 100)
        evidence = Evidence(counting.quote, bears_on=about, is_verified=counting.is_quoted)
    return Sourced(item, counting.verdict, " ".join(filter(None, notes)), evidence)


def _note(found: _Found) -> str:
    is_unverified = found.verdict == UNVERIFIED
    if found.verdict == MISSING:
        return NOT_SAID
    if found.chunk is None:
        return "The judge names no chunk that exists." if is_unverified else ""
    where = f"chunk {found.chunk.number} ({found.chunk.id})"
    if not found.quote.strip():
        return f"The judge quotes nothing of {where}." if is_unverified else ""
    if is_unverified:
        return f"{quoted(found.quote)} does not stand in {where}."
    return f"C{where[1:]}: {quoted(found.quote)}"


def evidence_of(found: Sequence[Sourced]) -> tuple[Evidence, ...]:
    """Give the quotes, a bounded number of them."""
    return tuple(each.evidence for each in found if each.evidence)[:MOST_EVIDENCE]
