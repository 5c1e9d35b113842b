"""Answers of models in a folder, so that a pipeline does not pay for the identical question again."""

import hashlib
import json
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.specs.base_spec import ProviderSpec

FROM_CACHE = "An answer came from the cache, not from the model, so it cost nothing."
_VERSION = 1  # of the files
_SECRET = "secret"  # noqa: S105 - the name of a file


@cache
def _replies() -> TypeAdapter[ModelReply]:
    return TypeAdapter(ModelReply)


class AnswerCache:
    """Answers in a folder, by all that they depend on: provider, model, request and trial."""

    def __init__(self, folder: Path, providers: Sequence[ProviderSpec]) -> None:
        self._folder = folder
        # Another server under the same name answers differently.
        self._apis = {spec.slug: (spec.kind, spec.base_url) for spec in providers}

    def of_trial(self, number: int) -> "TrialAnswers":
        """Return the answers for one execution: each trial has its own, or they would be copies."""
        return TrialAnswers(self, number)

    def find(self, name: str) -> ModelReply | None:
        """Return an answer, free of cost and marked; None if there is none that can be read."""
        try:
            stored = json.loads(self._file(name).read_bytes())
            if stored["version"] != _VERSION:
                return None
            reply = _replies().validate_python(stored["reply"])
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            return None
        return replace(
            reply,
            cost_usd=Decimal(0),
            waited_ms=0.0,
            attempts=(),
            is_replayed=True,
            is_reused=True,
            notes=(*reply.notes, FROM_CACHE),
        )

    def keep(self, name: str, reply: ModelReply) -> None:
        """Keep an answer if it is whole; a folder that cannot be written only keeps none."""
        if reply.stop not in {"ok", "tool"} or not reply.is_whole or reply.is_reused:
            return
        stored = {
            "version": _VERSION,
            "reply": _replies().dump_python(reply, mode="json"),
        }
        file = self._file(name)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(file, json.dumps(stored).encode())

    def drop(self, name: str) -> None:
        """Forget an answer that turned out to be unusable."""
        with suppress(OSError):
            self._file(name).unlink(missing_ok=True)

    def name_of(self, call: ModelCall, *, trial: int, number: int) -> str:
        """Return the name of the answer to a call that an execution makes for the `number`th time."""
        asked = json.dumps([self._apis.get(call.provider), call.as_json(), trial, number])
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()

    def _file(self, name: str) -> Path:
        return self._folder / name[:2] / f"{name}.json"


class TrialAnswers:
    """The answers for one execution; equal questions in it are votes, so each has its own."""

    def __init__(self, cache: AnswerCache, trial: int) -> None:
        self._cache = cache
        self._trial = trial
        self._asked: Counter[str] = Counter()

    def name_of(self, call: ModelCall) -> str:
        """Return the name of the answer to the next call, which counts as made."""
        request = call.as_json()
        self._asked[request] += 1
        return self._cache.name_of(call, trial=self._trial, number=self._asked[request])

    def find(self, name: str) -> ModelReply | None:
        return self._cache.find(name)

    def keep(self, name: str, reply: ModelReply) -> None:
        self._cache.keep(name, reply)

    def drop(self, name: str) -> None:
        self._cache.drop(name)


def secret_in(folder: Path) -> bytes:
    """Return the secret of a folder, made on first use: prompts of judges depend on it.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _SECRET
    if not file.exists():
        _write_whole(file, secrets.token_hex(32).encode())
    return file.read_bytes()


def _write_whole(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".")
    with os.fdopen(handle, "wb") as draft:
        draft.write(content)
    Path(name).replace(file)
