"""Evals, their runs, and the items of these."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evals_app.formats.openai_evals.mentions import is_id, items_file
from evals_app.management.openai_evals.api import FailedError
from evals_app.management.openai_evals.work import Work
from fixtures_app.ground.strict_json import JsonObject

# A run in any other state may still change.
_ENDED = ("completed", "failed", "canceled", "cancelled", "expired")
_NOT_AN_ID = "It has no id, so it cannot be fetched."
_OPEN = "It has not ended (status {}), so it may still change. Start again when it has."
_ITEMS = "-items"
_FEWER = "The run counts {:,} items, but the API lists {:,}."


@dataclass(frozen=True, slots=True)
class Found:
    """An eval or a run; `is_listed` unless only an earlier save still has it."""

    data: JsonObject
    is_listed: bool

    @property
    def id(self) -> str:
        return str(self.data["id"])


async def find_evals(work: Work) -> list[Found]:
    """Return the evals of the account, and those that only an earlier save has.

    Raises:
        FailedError: there is no list at all.
        StoppedError: nothing can be had any more.
    """
    return _with_saved(await _list(work, "eval", "evals"), _saved_evals(work))


async def save_eval(work: Work, found: Found, place: str) -> None:
    """Save an eval with all that belongs to it; `place` is its number and the total."""
    folder = eval_folder(found.id)
    work.folder.write_json(f"{folder}/{folder}.json", found.data)
    work.report.counts["evals"].add(is_saved=True)
    work.named.note(found.data)
    items = work.report.counts["items"]
    before = items.saved
    runs = await _runs(work, found, folder)
    for run in runs:
        await _save_run(work, found.id, folder, run)
    work.tell(
        f"Eval {place}: {found.data.get('name') or found.id} ({found.id}), runs: {len(runs):,}, "
        f"items: {items.saved - before:,}"
    )


def eval_folder(eval_id: str) -> str:
    """Return the name of the folder of an eval."""
    return eval_id if eval_id.startswith("eval_") else f"eval_{eval_id}"


def _run_name(run_id: str) -> str:
    return run_id if run_id.startswith("evalrun_") else f"evalrun_{run_id}"


async def _list(work: Work, kind: str, *parts: str) -> dict[str, JsonObject]:
    """Return a list of the API by its ids; what it lacks is reported.

    Raises:
        FailedError: it is the list of evals, and nothing of it could be had.
    """
    count = work.report.counts[f"{kind}s"]
    objects: dict[str, JsonObject] = {}
    try:
        async for page in work.api.pages(*parts):
            for entry in page.entries:
                if isinstance(entry, dict) and is_id(entry.get("id")):
                    objects.setdefault(entry["id"], entry)
                else:
                    count.add(is_saved=False)
                    work.report.miss(f"one {kind}", work.api.address(*parts), _NOT_AN_ID)
    except FailedError as error:
        if kind == "eval" and not objects:
            raise
        count.is_least = True
        what = "the other evals" if kind == "eval" else f"runs of {parts[1]}"
        work.report.miss(what, error.address, str(error))
    return objects


def _with_saved(listed: dict[str, JsonObject], saved: Iterable[JsonObject]) -> list[Found]:
    only_saved = [Found(data, is_listed=False) for data in saved if data["id"] not in listed]
    return [*(Found(data, is_listed=True) for data in listed.values()), *only_saved]


def _saved_evals(work: Work) -> list[JsonObject]:
    folders = sorted(path.name for path in work.folder.root.glob("eval_*/"))
    evals = (work.folder.read(f"{folder}/{folder}.json") for folder in folders)
    return [asked for asked in evals if isinstance(asked, dict) and is_id(asked.get("id"))]


async def _runs(work: Work, found: Found, folder: str) -> list[Found]:
    listed = await _list(work, "run", "evals", found.id, "runs") if found.is_listed else {}
    if work.report.counts["runs"].is_least:
        work.report.counts["items"].is_least = True
    names = (name for name in work.folder.names(folder) if _ITEMS not in name)
    saved = (work.folder.read(name) for name in names if name.startswith(f"{folder}/evalrun_"))
    runs = [run for run in saved if isinstance(run, dict)]
    return _with_saved(listed, [run for run in runs if is_id(run.get("id"))])


async def _save_run(work: Work, eval_id: str, folder: str, found: Found) -> None:
    run, stem = found.data, f"{folder}/{_run_name(found.id)}"
    saved = work.folder.read(f"{stem}.json")
    # Its items changed after they were saved. It is written last: until then they count as old.
    is_again = isinstance(saved, dict) and not _has_ended(saved) and found.is_listed
    if not is_again:
        work.folder.write_json(f"{stem}.json", run)
    is_whole = await _save_items(work, eval_id, stem, run, again=is_again)
    if is_again and is_whole:
        work.folder.write_json(f"{stem}.json", run)
    work.report.counts["runs"].add(is_saved=True)
    work.named.note_run(run)
    if file_id := items_file(run):
        work.named.files.add(file_id)
        work.items_for.add((file_id, folder))
    if not _has_ended(run):
        address = work.api.address("evals", eval_id, "runs", found.id)
        work.report.miss(f"the end of run {found.id}", address, _OPEN.format(run["status"]))


def _has_ended(run: JsonObject) -> bool:
    return run.get("status", "completed") in _ENDED


async def _save_items(work: Work, eval_id: str, stem: str, run: JsonObject, *, again: bool) -> bool:
    """Save the items of a run and count them; return whether all could be read."""
    parts = ("evals", eval_id, "runs", str(run["id"]), "output_items")
    count, seen, is_whole = work.report.counts["items"], set[Any](), True
    try:
        async for page in work.series(f"{stem}{_ITEMS}", *parts, again=again):
            work.named.note(page.entries)
            seen.update(_key(entry) for entry in page.entries)
    except FailedError as error:
        is_whole = False
        work.report.miss(f"items of run {run['id']}", error.address, str(error))
    total = _total(run)
    count.saved += len(seen)
    count.expected += max(total or 0, len(seen))
    if not is_whole and total is None:
        count.is_least = True
    if is_whole and total is not None and total > len(seen):
        problem = _FEWER.format(total, len(seen))
        work.report.miss(f"items of run {run['id']}", work.api.address(*parts), problem)
    return is_whole


def _key(entry: object) -> object:
    own = entry.get("id") if isinstance(entry, dict) else None
    return own if isinstance(own, str) else repr(entry)


def _total(run: JsonObject) -> int | None:
    """Return how many items a run counts; None: it does not say."""
    counts = run.get("result_counts")
    total = counts.get("total") if isinstance(counts, dict) else None
    return total if type(total) is int else None
