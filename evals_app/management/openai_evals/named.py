"""What evals, runs and items name: files, prompt objects, stored completions and responses."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from evals_app.formats.openai_evals.mentions import Filter, PromptVersion, is_id
from evals_app.management.openai_evals.api import FailedError, StoppedError
from evals_app.management.openai_evals.folder import is_suffix
from evals_app.management.openai_evals.work import Work
from fixtures_app.ground.strict_json import JsonObject

_BY_HAND = " Copy it by hand: open {} and save what it says as {}.txt in this folder."
_OWN_COPY = " If you have a copy, put it into this folder as {} with its usual ending."
_SIZE = "It has {:,} bytes; its description says {:,}."


@dataclass(kw_only=True, eq=False)
class SavedItem:
    """Saves what was named, then what that names, until there is nothing new."""

    work: Work
    _tried: set[tuple[str, object]] = field(default_factory=set)

    async def save(self) -> None:
        """Save everything that is named and can be read.

        Raises:
            StoppedError: nothing can be had any more.
        """
        while waiting := list(self._waiting()):
            self.work.tell(f"Named files, prompts and stored answers: {len(waiting):,}")
            for kind, thing, save in waiting:
                if (kind, thing) not in self._tried:
                    self._tried.add((kind, thing))
                    await self._counted(kind, thing, save)

    def count_waiting(self) -> None:
        """Count what was not tried because nothing could be had any more."""
        for kind, *_ in self._waiting():
            if kind != "filters":
                self.work.report.counts[kind].add(is_saved=False)

    def _waiting(self) -> Iterator[tuple[str, Any, Callable[[Any], Awaitable[bool | None]]]]:
        named = self.work.named
        yield from (("files", item, self._file) for item in self._new("files", named.files))
        yield from (("prompts", item, self._prompt) for item in self._new("prompts", named.prompts))
        yield from (("filters", item, self._filter) for item in self._new("filters", named.filters))
        yield from (
            ("completions", item, self._completion)
            for item in self._new("completions", named.completions)
        )
        yield from (
            ("responses", item, self._response) for item in self._new("responses", named.responses)
        )

    def _new(self, kind: str, things: set[Any]) -> list[object]:
        return sorted(thing for thing in things if (kind, thing) not in self._tried)

    async def _counted(
        self, kind: str, thing: object, save: Callable[[object], Awaitable[bool | None]]
    ) -> None:
        """Save one thing and count it, unless the service does not store it any more."""
        try:
            is_saved = await save(thing)
        except StoppedError:
            self._tried.discard((kind, thing))
            raise
        if kind != "filters" and is_saved is not None:
            self.work.report.counts[kind].add(is_saved=is_saved)

    # Files

    async def _file(self, file_id: str) -> bool:
        failure = await self._description(file_id)
        content = self._content(file_id)
        if content is None or not self._has_its_size(file_id, content):
            failure = await self._download(file_id) or failure
            content = self._content(file_id)
        elif failure is not None and failure.is_gone:
            failure = None  # someone has put a copy there
        if content is None or failure is not None:
            self._miss_file(file_id, failure)
            return False
        self.work.named.note_rows(self.work.folder.bytes_of(content))
        for named, folder in self.work.items_for:
            if named == file_id:
                self.work.folder.copy(content, f"{folder}/{file_id}.jsonl")
        return True

    async def _description(self, file_id: str) -> FailedError | None:
        try:
            await self.work.thing(f"files/{file_id}.metadata.json", "files", file_id)
        except FailedError as error:
            return error
        return None

    async def _download(self, file_id: str) -> FailedError | None:
        about = self._about(file_id)
        suffix = PurePosixPath(str(about.get("filename", ""))).suffix
        name = f"files/{file_id}{suffix if is_suffix(suffix) else ''}"
        try:
            with self.work.folder.writing(name) as begin:
                await self.work.api.download("files", file_id, "content", begin=begin)
        except FailedError as error:
            return error
        if self._has_its_size(file_id, name):
            return None
        address = self.work.api.address("files", file_id, "content")
        return FailedError(address, _SIZE.format(self.work.folder.size(name), about["bytes"]))

    def _content(self, file_id: str) -> str | None:
        return next(iter(self.work.folder.names("files", file_id)), None)

    def _about(self, file_id: str) -> JsonObject:
        about = self.work.folder.read(f"files/{file_id}.metadata.json")
        return about if isinstance(about, dict) else {}

    def _has_its_size(self, file_id: str, name: str) -> bool:
        size = self._about(file_id).get("bytes")
        return type(size) is not int or self.work.folder.size(name) == size

    def _miss_file(self, file_id: str, failure: FailedError | None) -> None:
        address = failure.address if failure else self.work.api.address("files", file_id)
        hint = _OWN_COPY.format(f"files/{file_id}")
        self.work.report.miss(f"file {file_id}", address, f"{failure}{hint}")

    # Prompts

    async def _prompt(self, prompt: PromptVersion) -> bool:
        stem = f"prompts/{prompt.id}" + (f"-v{prompt.version}" if prompt.version else "")
        if self.work.folder.names("prompts", stem.removeprefix("prompts/")):
            self._note_prompt(prompt, self.work.folder.read(f"{stem}.json"))
            return True
        try:
            data = await self.work.thing(f"{stem}.json", "prompts", prompt.id, query=prompt.query)
        except FailedError as error:
            version = f", version {prompt.version}" if prompt.version else ""
            problem = f"{error}{_BY_HAND.format(prompt.page, stem)}"
            self.work.report.miss(f"prompt {prompt.id}{version}", error.address, problem)
            return False
        self._note_prompt(prompt, data)
        return True

    def _note_prompt(self, prompt: PromptVersion, data: object) -> None:
        """Take what a prompt names; its own id there is not a version of it that someone named."""
        prompts = self.work.named.prompts
        own = {PromptVersion(prompt.id)} - prompts
        self.work.named.note(data)
        prompts -= own

    # Stored answers

    async def _filter(self, filter_: Filter) -> None:
        """Save the stored completions that a run was about."""
        digest = hashlib.sha256(repr(filter_).encode()).hexdigest()[:16]
        name = f"completions/filter-{digest}.json"
        saved = self.work.folder.read(name)
        ids = saved["ids"] if isinstance(saved, dict) else await self._list_fitting(filter_, name)
        self.work.named.completions.update(ids)

    async def _list_fitting(self, filter_: Filter, name: str) -> list[str]:
        """Save the completions that fit a filter, and, once they are all here, which they are."""
        ids = []
        try:
            async for page in self.work.api.pages("chat", "completions", query=filter_.query):
                for entry in page.entries:
                    if isinstance(entry, dict) and is_id(entry.get("id")) and filter_.fits(entry):
                        self.work.folder.write_json(f"completions/{entry['id']}.json", entry)
                        ids.append(entry["id"])
        except FailedError as error:
            self.work.report.counts["completions"].is_least = True
            self.work.report.miss("stored completions of a run", error.address, str(error))
        else:
            self.work.folder.write_json(name, {"query": filter_.query, "ids": ids})
        return ids

    async def _completion(self, completion_id: str) -> bool | None:
        return await self._save_stored(
            "completions", completion_id, "messages", "chat", "completions"
        )

    async def _response(self, response_id: str) -> bool | None:
        return await self._save_stored("responses", response_id, "input_items", "responses")

    async def _save_stored(self, kind: str, its_id: str, inputs: str, *parts: str) -> bool | None:
        """Save a stored answer with what was asked; None: the service does not have it any more."""
        stem = f"{kind}/{its_id}"
        try:
            self.work.named.note(await self.work.thing(f"{stem}.json", *parts, its_id))
            async for page in self.work.series(f"{stem}-{inputs}", *parts, its_id, inputs):
                self.work.named.note(page.entries)
        except FailedError as error:
            if error.is_gone:
                self.work.report.gone.append(its_id)
                return None
            self.work.report.miss(f"stored answer {its_id}", error.address, str(error))
            return False
        return True
