"""A checklist as judges answer it: joined by the numbers we gave, whatever a reply lacks or adds."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict

from evals_app.engine.aids import ITEMS_A_CALL, ChecklistItem, Tick
from evals_app.engine.errors import JudgeError, ProviderError
from evals_app.engine.judging.asking import MAX_OUTPUT_TOKENS, Asked, Asker, Prompt, UnreadableError
from evals_app.engine.judging.objects import checked, last_object, object_schema, read_object
from evals_app.engine.judging.transcript import cut
from evals_app.engine.judging.verdict import MAX_CHARS, SCRIPTED_CRITIQUE
from evals_app.engine.trial import JudgeCall

_VERDICTS: tuple[Tick | Literal["cannot_grade"], ...] = (
    "pass",
    "fail",
    "not_applicable",
    "cannot_grade",
)
_TOKENS_AN_ITEM = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What one vote says of one item; `verdict` None: it cannot tell."""

    verdict: Tick | None
    critique: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Ticks:
    """What one reply, or one vote, says of the items it names."""

    by_id: Mapping[int, Found]
    is_suspected: bool = False


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: int
    quote: str
    critique: str
    verdict: Literal["pass", "fail", "not_applicable", "cannot_grade"]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    items: list[_Item]
    injection_suspected: bool


def checklist_schema() -> dict[str, Any]:
    """Give the JSON Schema of an answer; the same for all lists, so that APIs compile it once."""
    text = {"type": "string"}
    properties = {
        "id": {"type": "integer"},
        "quote": text,
        "critique": text,
        "verdict": text | {"enum": list(_VERDICTS)},
    }
    items = {"type": "array", "items": object_schema(properties)}
    return object_schema({"items": items, "injection_suspected": {"type": "boolean"}})


def read_checklist(text: str) -> Ticks:
    """Read a reply; of two verdicts on one item the first counts.

    Raises:
        UnreadableError: it holds no object, or one that is not of the schema.
    """
    answer = checked(_Answer, read_object(text))
    by_id: dict[int, Found] = {}
    for each in answer.items:
        verdict = None if each.verdict == "cannot_grade" else each.verdict
        found = Found(verdict, cut(each.critique.strip(), MAX_CHARS), each.quote[:MAX_CHARS])
        by_id.setdefault(each.id, found)
    return Ticks(by_id, answer.injection_suspected)


def read_scripted_checklist(text: str, items: Sequence[ChecklistItem]) -> Ticks:
    """Read the reply of a scripted judge: one verdict for all items, or one by number.

    `{"1": "pass", "2": {"verdict": "fail", "critique": "..."}}`; what it does not name is missing.

    Raises:
        UnreadableError: it is neither.
    """
    bare = text.strip().strip("\"'`.").strip().lower()
    data: Any = dict.fromkeys((str(each.id) for each in items), bare)
    if bare not in _VERDICTS:
        data = last_object(text)
    if data is None:
        _refuse_scripted(text)
    if "items" in data:
        return read_checklist(text)
    by_id = {}
    for key, value in data.items():
        said = value if isinstance(value, dict) else {"verdict": value}
        verdict = said.get("verdict")
        if not re.fullmatch(r"[0-9]{1,4}", key) or verdict not in _VERDICTS:
            _refuse_scripted(text)
        critique = str(said.get("critique") or "").strip()
        by_id[int(key)] = Found(
            None if verdict == "cannot_grade" else verdict,
            f"{SCRIPTED_CRITIQUE[:-1]}: {critique}" if critique else SCRIPTED_CRITIQUE,
            str(said.get("quote") or ""),
        )
    return Ticks(by_id)


def _refuse_scripted(text: str) -> NoReturn:
    raise UnreadableError(
        f"The scripted judge answered {text.strip()[:80]!r}; of a rubric it says"
        f" {', '.join(_VERDICTS[:-1])} or {_VERDICTS[-1]}, for all items, or as JSON by their"
        ' numbers: {"1": "pass", "2": "fail"}.'
    )


async def ask_items(
    asker: Asker,
    *,
    items: Sequence[ChecklistItem],
    write: Callable[[Sequence[ChecklistItem]], Prompt],
) -> tuple[Ticks, tuple[JudgeCall, ...]]:
    """Ask one model about all items, so many a call; what it leaves out is asked about once more.

    Raises:
        JudgeError, ProviderError: a part of them got no answer.
    """
    ask = partial(_ask_part, asker, write)
    parts = [items[n : n + ITEMS_A_CALL] for n in range(0, len(items), ITEMS_A_CALL)]
    found = await asyncio.gather(*map(ask, parts), return_exceptions=True)
    calls: list[JudgeCall] = []
    by_id: dict[int, Found] = {}
    problems: list[BaseException] = []
    is_suspected = False
    for each in found:
        if isinstance(each, BaseException):
            problems.append(each)
            calls += getattr(each, "calls", ())
        else:
            ticks, made = each
            by_id |= ticks.by_id
            is_suspected |= ticks.is_suspected
            calls += made
    if problems:
        # Of several causes the judge's is the least serious.
        problem = min(problems, key=lambda each: isinstance(each, JudgeError))
        if isinstance(problem, JudgeError | ProviderError):
            problem.calls = tuple(calls)
        raise problem
    return Ticks(by_id, is_suspected), tuple(calls)


async def _ask_part(
    asker: Asker,
    write: Callable[[Sequence[ChecklistItem]], Prompt],
    items: Sequence[ChecklistItem],
) -> tuple[Ticks, tuple[JudgeCall, ...]]:
    first = await _asked(asker, write, items)
    ticks, calls = first.answer, first.calls
    missing = [each for each in items if each.id not in ticks.by_id]
    if missing and not asker.is_scripted:  # a script would say the same again
        try:
            again = await _asked(asker, write, missing)
        except JudgeError as exc:
            calls += tuple(exc.calls)
        except ProviderError as exc:
            exc.calls = (*calls, *exc.calls)
            raise
        else:
            ticks = Ticks(
                {**again.answer.by_id, **ticks.by_id},
                ticks.is_suspected or again.answer.is_suspected,
            )
            calls += again.calls
    ours = {each.id: ticks.by_id[each.id] for each in items if each.id in ticks.by_id}
    return Ticks(ours, ticks.is_suspected), calls


async def _asked(
    asker: Asker,
    write: Callable[[Sequence[ChecklistItem]], Prompt],
    items: Sequence[ChecklistItem],
) -> Asked[Ticks]:
    scripted = partial(read_scripted_checklist, items=items)
    return await asker.ask(
        write(items),
        schema=checklist_schema(),
        read=scripted if asker.is_scripted else read_checklist,
        purpose="rubric",
        max_output_tokens=max(MAX_OUTPUT_TOKENS, _TOKENS_AN_ITEM * len(items)),
    )


def merged(found: Sequence[Found | None]) -> Found:
    """Give what votes say of one item together: the majority of those that say anything.

    Nothing where over half say nothing, and where they are tied. The words are those of the first
    vote of that verdict.
    """
    said = [each for each in found if each is not None]
    counts = Counter(each.verdict for each in said if each.verdict is not None)
    ahead = counts.most_common(2)
    if not ahead or 2 * (len(found) - counts.total()) > len(found):
        critique = next((each.critique for each in said if each.critique), "")
        return Found(None, critique or "The judge said nothing about it.")
    if len(ahead) > 1 and ahead[0][1] == ahead[1][1]:
        return Found(None, "The votes are tied.")
    return next(each for each in said if each.verdict == ahead[0][0])
