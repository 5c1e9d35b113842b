"""Vectors of texts: how near they are to each other, and a bounded memory of them."""

import asyncio
import hashlib
import math
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from threading import Lock
from typing import Any

from evals_app.engine.basics.errors import JudgeError

Vector = Sequence[float]

_MAX_KEPT = 2_000  # of 1,536 numbers each: some 25 MB


def unit(numbers: Sequence[float]) -> Vector:
    """Return the vector of length 1 in the same direction; zeros stay zeros.

    Raises:
        ValueError: a number is infinite or none at all.
    """
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise ValueError("a vector contains a value that is not a number")
    return array("d", (number / length for number in numbers) if length else numbers)


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of the angle between two unit vectors, clamped to 0..1.

    Raises:
        ValueError: they are of different length.
    """
    if len(one) != len(other):
        raise ValueError(f"the vectors have {len(one)} and {len(other)} numbers")
    return min(1.0, max(0.0, math.fsum(map(mul, one, other))))


class KnownVectors:
    """The vectors of the texts that were last compared, by what made them and the text."""

    def __init__(self, *, most: int = _MAX_KEPT) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, bytes], Vector] = OrderedDict()

    def get(self, maker: str, text: str) -> Vector | None:
        key = _key(maker, text)
        if key in self._known:
            self._known.move_to_end(key)
        return self._known.get(key)

    def keep(self, maker: str, text: str, vector: Vector) -> None:
        self._known[_key(maker, text)] = vector
        while len(self._known) > self._most:
            self._known.popitem(last=False)


def _key(maker: str, text: str) -> tuple[str, bytes]:
    return maker, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


async def static_vectors(directory: str, texts: Sequence[str]) -> list[Vector]:
    """Return the vectors of a model2vec model that lies on this machine.

    Raises:
        JudgeError: there is no such folder, or the library is not installed.
    """
    return await asyncio.to_thread(_static_vectors, directory, texts)


def _static_vectors(directory: str, texts: Sequence[str]) -> list[Vector]:
    readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    with _LOADING:
        model = _static_model(directory)
    # Without a length texts are cut at 512 tokens.
    return [unit(vector.tolist()) for vector in model.encode(readable, max_length=None)]


_LOADING = Lock()  # only one thread loads the model


@lru_cache(maxsize=1)
def _static_model(directory: str) -> Any:
    # The library takes a path that is not a folder for a name on a model hub.
    if not Path(directory).is_dir():
        raise JudgeError(f"There is no folder {directory} on this machine.")
    try:
        from model2vec import StaticModel  # noqa: PLC0415 - an extra, and a second to import
    except ImportError as exc:
        raise JudgeError("model2vec is not installed on this machine.") from exc
    return StaticModel.from_pretrained(directory)
