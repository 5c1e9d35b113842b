"""OpenAI's embeddings as plain data: texts to a request, its answer to vectors."""

from collections.abc import Iterator, Mapping, Sequence

from evals_app.engine.llm.apis.wire import (
    UnreadableReplyError,
    count,
    label,
    read_usage,
    well_formed,
)
from evals_app.engine.llm.call import EmbedCall, Embeddings
from evals_app.engine.record.usage import Usage
from fixtures_app.ground.strict_json import JsonObject


def to_request(call: EmbedCall) -> JsonObject:
    """Return the keyword arguments of the SDK's `embeddings.create`."""
    texts = [well_formed(text) for text in call.texts]
    # Without a format the SDK asks for one that compatible servers may not have.
    return {"model": call.model, "input": texts, "encoding_format": "float"}


def to_embeddings(body: Mapping[str, object], *, texts: int) -> Embeddings:
    """Read the vectors of `count` texts.

    Raises:
        UnreadableError: it is not a list of as many vectors.
    """
    data = body.get("data")
    placed = list(_vectors(data)) if isinstance(data, list) else []
    vectors = dict(placed)
    if len(placed) != texts or vectors.keys() != set(range(texts)):
        raise UnreadableReplyError(f"it does not have one vector for each of the {texts} texts")
    if len({len(vector) for vector in vectors.values()}) != 1 or not vectors[0]:
        raise UnreadableReplyError("its vectors differ in length")
    usage, _ = read_usage(body.get("usage"), _to_usage)
    return Embeddings(
        vectors=tuple(vectors[place] for place in range(texts)),
        usage=usage,
        model=label(body.get("model")),
    )


def _to_usage(usage: object) -> Usage:
    return Usage(input_uncached=count(usage, "prompt_tokens"), output=0)


def _vectors(data: Sequence[object]) -> Iterator[tuple[int, tuple[float, ...]]]:
    for place, entry in enumerate(data):
        if not isinstance(entry, Mapping):
            continue
        vector = entry.get("embedding")
        if not isinstance(vector, list) or not all(
            isinstance(number, int | float) for number in vector
        ):
            continue
        index = entry.get("index")
        yield index if isinstance(index, int) else place, tuple(map(float, vector))
