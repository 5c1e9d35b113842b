"""Look statements up in retrieved chunks: which chunk supports each, by a quote from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from evals_app.engine.judging.answers.replies import UNDECIDED, Opinion
from evals_app.engine.judging.metrics.composing import item_json
from evals_app.engine.judging.metrics.items import ItemOpinions, ListedItem, Task
from evals_app.engine.judging.prompts.context import ShownChunk, shown_chunks, windows
from evals_app.engine.judging.prompts.inquiry import Inquiry, side_by_side
from evals_app.engine.record.grade import Evidence
from evals_app.engine.record.trial import Chunk
from fixtures_app.ground.quoting import cut_middle, in_quotes
from fixtures_app.ground.strict_json import JsonObject

MAX_EVIDENCE = 20
_ABOUT_CHARS = 100


@dataclass(frozen=True, slots=True)
class StatementSource:
    """What was found of a statement, and where; the evidence is the judge's quote, if it gave one."""

    item: ListedItem
    verdict: str
    note: str
    evidence: Evidence | None = None

    def as_json(self) -> JsonObject:
        return item_json(self.item, self.verdict, self.note)


async def find_sources(
    task: Task,
    items: Sequence[ListedItem],
    chunks: Sequence[Chunk],
    inquiry: Inquiry,
    *,
    sourced: frozenset[str],
    strength: Sequence[str],
    blocks: Mapping[str, str] = MappingProxyType({}),
) -> list[StatementSource]:
    """Ask about all items in each window of the chunks; of an item the strongest verdict counts.

    The verdicts in `sourced` need a quote from the chunk that is named with it; without one they
    are UNDECIDED. `strength` names all verdicts, the strongest first.

    Raises:
        JudgeError, ProviderError: a call failed.
    """
    shown = shown_chunks(chunks, inquiry)
    by_number = {chunk.number: chunk for chunk in shown}

    async def look_through(window: str, branch: Inquiry) -> ItemOpinions:
        weigh = partial(_weigh_opinion, chunks=by_number, sourced=sourced, inquiry=branch)
        return await task.judge(items, branch, {**blocks, "CONTEXT": window}, weigh=weigh)

    looks = [partial(look_through, window) for window in windows(shown, inquiry)]
    judged = await side_by_side(inquiry, looks)
    return [
        _source_of(
            item,
            sorted(
                (part.opinions[item.id] for part in judged),
                key=lambda opinion: strength.index(opinion.verdict),
            ),
            by_number,
        )
        for item in items
    ]


def _weigh_opinion(
    item: ListedItem,
    opinion: Opinion,
    *,
    chunks: Mapping[int, ShownChunk],
    sourced: frozenset[str],
    inquiry: Inquiry,
) -> Opinion:
    """Look the quote up in the chunk that the judge names."""
    chunk = chunks.get(opinion.chunk)
    about = cut_middle(item.text, _ABOUT_CHARS)
    evidence = None
    if opinion.quote.strip():
        evidence = Evidence(opinion.quote, bears_on=about)
        if chunk is not None:
            evidence = chunk.words.look_up(opinion.quote, about)
    opinion = replace(opinion, evidence=evidence)
    is_silent_script = inquiry.is_scripted and evidence is None  # a script quotes nothing
    if opinion.verdict not in sourced or is_silent_script:
        return opinion
    return replace(opinion, objection=_objection(opinion, chunk))


def _objection(opinion: Opinion, chunk: ShownChunk | None) -> str:
    """Explain why a verdict that needs a source has none."""
    if chunk is None:
        return f"{opinion.verdict} needs a chunk that says so; none is named that exists."
    if opinion.evidence is None:
        return f"{opinion.verdict} needs a passage of {_where(chunk)}; none is quoted."
    if not opinion.evidence.is_verified:
        return f"{in_quotes(opinion.quote)} does not occur in {_where(chunk)}."
    return ""


def _where(chunk: ShownChunk) -> str:
    return f"chunk {chunk.number} ({chunk.id})"


def _source_of(
    item: ListedItem, opinions: Sequence[Opinion], chunks: Mapping[int, ShownChunk]
) -> StatementSource:
    counting = opinions[0]
    notes = [_note(counting, chunks)]
    # Windows may disagree; the weaker verdicts are shown too.
    notes += [
        f"But {other.verdict} by another part: {_note(other, chunks)}"
        for other in opinions[1:]
        if other.verdict != counting.verdict and other.chunk in chunks
    ]
    note = " ".join(filter(None, notes))
    return StatementSource(item, counting.verdict, note, counting.evidence)


def _note(opinion: Opinion, chunks: Mapping[int, ShownChunk]) -> str:
    if opinion.verdict == UNDECIDED:
        return opinion.objection
    chunk = chunks.get(opinion.chunk)
    if chunk is None or opinion.evidence is None:
        return ""
    return f"C{_where(chunk)[1:]}: {in_quotes(opinion.quote)}"


def evidence_of(items: Sequence[StatementSource]) -> tuple[Evidence, ...]:
    """Return the quotes, a bounded number of them."""
    return tuple(sourced.evidence for sourced in items if sourced.evidence)[:MAX_EVIDENCE]
