"""The data of an eval: items of its runs, saved with results, or in a file next to it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evals_app.formats.foreign.chats import is_chat
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.openai_evals.parts import LostPartError, Parts, read_sibling
from evals_app.formats.openai_evals.shapes import Eval, Run
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.problems import Json

_ANSWERED = (
    "These items contain earlier answers. They are left out because the agent is asked again."
)
_NO_ITEM = "An item is a mapping of names to values."


@dataclass(frozen=True, slots=True)
class DataItem:
    """A row of data; `messages` are those that were sent for it, if a saved result has them."""

    spot: Spot
    data: Json = field(repr=False)
    messages: list[Json] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the items of an eval may be: in its run, its results, or in a file next to it.

    `is_alone`: no other eval is imported, so whatever items are there are its own.
    """

    asked: Eval
    here: Spot
    run: Run | None
    ran: Spot | None
    parts: Parts = field(repr=False)
    is_alone: bool

    @property
    def spot(self) -> Spot:
        return self.ran or self.here


def items_of(origin: Origin) -> list[DataItem]:
    """Return the items of an eval, of the first place that has some.

    Raises:
        LostPartError: there are none; the message says how to get them.
    """
    content = origin.spot.at("data_source", "source", "content")
    if isinstance(content.value, list):
        return list(_items(content.entries()))
    named = origin.spot.at("data_source", "source", "id").value
    file_id = named if isinstance(named, str) and named else None
    # The file is whole; of results someone may have saved the first page alone.
    if file_id and _files(origin.spot, file_id):
        return list(_items(_sibling_items(origin, file_id).entries()))
    if outputs := list(_outputs(origin)):
        return outputs
    if origin.is_alone and origin.parts.items:
        return list(_items(origin.parts.items))
    return list(_items(_sibling_items(origin, file_id).entries()))


def _items(spots: Iterable[Spot]) -> Iterator[DataItem]:
    is_reported = False
    for spot in spots:
        row = spot.value
        inner = row.get("item", row) if isinstance(row, dict) else None
        if not isinstance(inner, dict):
            spot.say(_NO_ITEM)
            continue
        if inner is not row and row.get("sample") and not is_reported:
            is_reported = True
            spot.lose(_ANSWERED)
        yield DataItem(spot.at("item") if inner is not row else spot, inner)


def _outputs(origin: Origin) -> Iterator[DataItem]:
    """Return the items of the results of a run; without a run those of the newest."""
    own = origin.asked.id
    mine = [
        output
        for output in origin.parts.outputs
        if own is None or output.value.get("eval_id") in (None, own)
    ]
    wanted = origin.run.id if origin.run is not None else None
    if origin.run is None and mine:
        wanted = max(mine, key=lambda item: _moment(item.value)).value.get("run_id")
    for item in mine:
        if wanted is not None and item.value.get("run_id") not in (None, wanted):
            continue
        data = item.at("datasource_item")
        inner = data.value.get("item") if isinstance(data.value, dict) else None
        if isinstance(inner, dict):
            data = data.at("item")
        if not isinstance(data.value, dict):
            data.say(_NO_ITEM)
            continue
        sent = item.at("sample", "input").value
        yield DataItem(data, data.value, sent if is_chat(sent) else None)


def _moment(value: Json) -> float:
    at = value.get("created_at")
    return at if isinstance(at, int | float) else 0


def _sibling_items(origin: Origin, file_id: str | None) -> Spot:
    """Read the JSONL file of items next to an eval.

    Raises:
        LostPartError: there is none that is known to be its own.
    """
    paths = _files(origin.spot) if origin.is_alone else []
    chosen = (file_id and _files(origin.spot, file_id)) or paths
    beside = read_sibling(origin.spot, chosen, read_json_lines) if len(chosen) == 1 else None
    if beside is None:
        raise LostPartError(_no_items(file_id, paths))
    return beside


def _files(origin: Spot, name: str = "") -> list[str]:
    """Return the JSONL files next to a file whose names begin so."""
    beside = origin.reading.around.attached.sibling_paths(origin.document.path, "*.jsonl")
    return [path for path in beside if path.startswith(name)]


def _no_items(file_id: str | None, paths: list[str]) -> str:
    if paths:
        name = f"{file_id}.jsonl" if file_id else "items.jsonl"
        return (
            f"The items of this eval are in one of several files: {', '.join(paths)}. Keep only the "
            f"one that belongs to it, or call it {name}."
        )
    if file_id:
        return (
            f"The items are in the file {file_id}, which is not here. Save it next to this one "
            f"as {file_id}.jsonl: GET https://api.openai.com/v1/files/{file_id}/content"
        )
    return (
        "There are no items here, so there is nothing to ask. Save a run of the eval next to it "
        "(GET /v1/evals/EVAL/runs/RUN), with its results (GET .../RUN/output_items) if its items "
        "came from logs, or a file items.jsonl with an item on each line."
    )
