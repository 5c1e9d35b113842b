"""What saved objects of the API name: files, prompts, stored answers, and things that are elsewhere.

Names of fields are those of the types of the `openai` Python package.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from evals_app.formats.reading.problems import Json

# What can be part of an address and of the name of a file.
_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)
# In any text: long enough, and with a digit, so that no word is taken for an id.
_FILES = re.compile(r"\bfile[-_](?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,64}\b")
_PROMPTS = re.compile(r"\bpmpt_[A-Za-z0-9]{16,128}\b")
_PROMPT = re.compile(r"pmpt_\w{1,128}", re.ASCII)
_RESPONSE = re.compile(r"resp_\w{1,128}", re.ASCII)
_COMPLETION = re.compile(r"chatcmpl-[A-Za-z0-9]{1,128}")
_VERSION = re.compile(r"[\w.-]{1,50}", re.ASCII)
# What the service made itself in a run: its answers are not stored, but their ids are shown.
_OF_THE_RUN = ("sample", "results")
_NO_BYTES = b"\0"


@dataclass(frozen=True, slots=True, order=True)
class PromptVersion:
    """A prompt object in one version; empty: the one that is current."""

    id: str
    version: str = ""

    @property
    def query(self) -> list[tuple[str, str]]:
        return [("version", self.version)] if self.version else []

    @property
    def page(self) -> str:
        """The address at which people see it."""
        query = urlencode([("prompt", self.id), *self.query])
        return f"https://platform.openai.com/chat/edit?{query}"


@dataclass(frozen=True, slots=True, order=True)
class Filter:
    """Which stored completions a run was about; 0 means no limit."""

    query: tuple[tuple[str, str], ...] = ()
    after: int = 0
    before: int = 0

    def fits(self, completion: Json) -> bool:
        moment = completion.get("created")
        if not isinstance(moment, int | float):
            return True
        return self.after <= moment and (not self.before or moment <= self.before)


@dataclass(slots=True)
class Mentions:
    """Everything that was named so far."""

    files: set[str] = field(default_factory=set)
    prompts: set[PromptVersion] = field(default_factory=set)
    completions: set[str] = field(default_factory=set)
    responses: set[str] = field(default_factory=set)
    filters: set[Filter] = field(default_factory=set)
    # What no request of this API returns: pictures at other addresses, vector stores.
    elsewhere: set[str] = field(default_factory=set)

    def note(self, value: object) -> None:
        """Take what an object names, however deep it is nested."""
        waiting: list[tuple[object, bool]] = [(value, True)]
        while waiting:
            part, has_logs = waiting.pop()
            if isinstance(part, dict):
                self._note_mapping(part)
                waiting += [
                    (inner, has_logs and key not in _OF_THE_RUN)
                    for key, inner in part.items()
                    if not _is_prompt_id(key, inner)
                ]
            elif isinstance(part, list):
                waiting += [(inner, has_logs) for inner in part]
            elif isinstance(part, str):
                self._note_text(part, has_logs=has_logs)

    def note_run(self, run: Json) -> None:
        """Take what a run names, and which stored answers it is about."""
        self.note(run)
        source = _at(run, "data_source", "source")
        if source.get("type") == "stored_completions":
            self.filters.add(_filter(source, run.get("created_at")))
        elif source.get("type") == "responses":
            self.elsewhere.add(
                "responses chosen by a filter, which the API does not list: those whose ids the items "
                "name are saved"
            )

    def note_rows(self, content: bytes) -> None:
        """Take what the lines of a JSONL file name; any other file names nothing."""
        for line in content.splitlines() if _NO_BYTES not in content[:8192] else ():
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                return
            if isinstance(row, dict | list):
                self.note(row)

    def _note_mapping(self, part: Json) -> None:
        for key in ("id", "prompt_id"):
            if _is_prompt_id(key, part.get(key)):
                version = part.get("version", part.get("prompt_version"))
                self.prompts.add(PromptVersion(part[key], _version(version)))
        if part.get("type") == "file_id":
            self._note_file(part.get("id"))
        self._note_file(part.get("file_id"))
        for listed in _list(part.get("file_ids")):
            self._note_file(listed)
        for key in ("image_url", "file_url"):
            given = part.get(key)
            url = given.get("url") if isinstance(given, dict) else given
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                self.elsewhere.add(url)
        self.elsewhere |= {f"vector store {item}" for item in _list(part.get("vector_store_ids"))}

    def _note_file(self, written: object) -> None:
        if isinstance(written, str) and is_id(written):
            self.files.add(written)

    def _note_text(self, text: str, *, has_logs: bool) -> None:
        self.files.update(_FILES.findall(text))
        self.prompts.update(map(PromptVersion, _PROMPTS.findall(text)))
        if has_logs and _RESPONSE.fullmatch(text):
            self.responses.add(text)
        elif has_logs and _COMPLETION.fullmatch(text):
            self.completions.add(text)


def is_id(written: object) -> bool:
    """Whether something can be asked for, and saved under its own name."""
    return isinstance(written, str) and _ID.fullmatch(written) is not None


def items_file(run: Json) -> str:
    """Return the id of the file that contains the items of a run; empty: they are elsewhere."""
    source = _at(run, "data_source", "source")
    named = source.get("id") if source.get("type") == "file_id" else None
    return named if isinstance(named, str) and is_id(named) else ""


def _is_prompt_id(key: str, value: Any) -> bool:
    is_named = key in ("id", "prompt_id") and isinstance(value, str)
    return is_named and _PROMPT.fullmatch(value) is not None


def _version(written: object) -> str:
    text = str(written) if isinstance(written, str | int) else ""
    return text if _VERSION.fullmatch(text) else ""


def _filter(source: Json, ran_at: object) -> Filter:
    """Return a filter; what was stored after the run began was not part of it."""
    query = [("model", source["model"])] if isinstance(source.get("model"), str) else []
    query += [(f"metadata[{key}]", str(value)) for key, value in _metadata(source)]
    ends = filter(None, map(_moment, (source.get("created_before"), ran_at)))
    return Filter(tuple(query), _moment(source.get("created_after")), min(ends, default=0))


def _metadata(source: Json) -> Iterator[tuple[str, object]]:
    metadata = source.get("metadata")
    yield from sorted(metadata.items()) if isinstance(metadata, dict) else ()


def _moment(value: Any) -> int:
    return int(value) if type(value) in (int, float) and value > 0 else 0


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _at(value: Mapping[str, object], *keys: str) -> Json:
    """Return the mapping at a path; an empty one if there is none."""
    part: object = value
    for key in keys:
        part = part.get(key) if isinstance(part, dict) else None
    return part if isinstance(part, dict) else {}
