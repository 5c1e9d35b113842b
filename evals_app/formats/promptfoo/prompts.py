"""Prompts: what is said to the agent, and its instructions."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from evals_app.engine.basics.template import escape_braces as with_backslashes
from evals_app.formats.foreign.shapes import distinct_names, slug_of
from evals_app.formats.promptfoo.shapes import Prompt as PromptShape
from evals_app.formats.promptfoo.source import FILE, ProjectSpot, is_file
from evals_app.formats.promptfoo.templates import NunjucksTemplate, Vars, text_of
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.reading.yaml_source import read_yaml

_PATH = re.compile(r"[^\s{}]+\.(?:txt|md|json|ya?ml|j2|csv)")
_NOT_TEXT = re.compile(r"(?:exec:|[a-z]+://)\S+|[^\s{}]+\.(?:[cm]?[jt]s|py|rb|sh|bash)(?::\w+)?")
_BETWEEN = re.compile(r"(?m)^---[ \t]*$")
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
# In place of the system messages of a chat that is one only when its variables are filled in.
_ALL_OF_THEM = "systemMessage"
DEFAULT = "{{prompt}}"
_QUESTIONS = ("question", "query", "prompt", "input", "message", "user_input", "text")
_NO_PROMPTS = (
    "There are no prompts here. The agent is asked the variable that holds the question "
    f"({', '.join(_QUESTIONS)}), else all variables."
)
# What was said in earlier tests, put before what is said now.
_CONVERSATION = re.compile(
    r"\{%-?\s*for\s+(\w+)\s+in\s+_conversation\s*-?%\}(.*?)\{%-?\s*endfor\s*-?%\}", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat, its content a template."""

    role: str
    content: NunjucksTemplate


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with the variables of a test filled in.

    `system` is the agent's instructions; `template` says the same with parameters of the case,
    which `parameters` gives.
    """

    user: str
    history: list[dict[str, str]]
    system: str
    template: str
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt: one text that the user says, or a chat whose last message is what they say.

    A program writes a new one for each test, so its own agent is asked a variable.
    """

    name: str
    slug: str
    labels: tuple[str, ...]
    spot: ProjectSpot
    text: NunjucksTemplate
    chat: Sequence[ChatMessage] | None
    by_program: bool = False
    # Whether what was said in earlier tests is before it.
    is_conversation: bool = False

    def say(self, values: Vars) -> FilledPrompt | None:
        """Fill in the variables of a test; None if it is not the user who speaks last."""
        if self.by_program:
            asked = with_backslashes(_question(values))
            return FilledPrompt(asked, [], "", "", {}) if asked.strip() else None
        chat = self.chat or _chat(self.text.fill(values)) or [ChatMessage("user", self.text)]
        spoken = _merge_speakers(chat, values)
        if not spoken or spoken[-1]["role"] != "user" or spoken[0]["role"] != "user":
            return None
        instructions = NunjucksTemplate(
            "\n\n".join(item.content.text for item in chat if item.role == "system")
        )
        system = instructions.literal(values)
        *history, last = spoken
        if self.chat is None:
            template, parameters = (
                NunjucksTemplate(f"{{{{{_ALL_OF_THEM}}}}}"),
                {_ALL_OF_THEM: system},
            )
        else:
            template, parameters = instructions, instructions.values(values)
        return FilledPrompt(
            last["content"], history, system, template.with_parameters(), parameters
        )


def _question(values: Vars) -> str:
    """Return the variable that most likely is the question; all of them where none is."""
    texts = {key: text_of(value) for key, value in values.items()}
    key = next((question for question in _QUESTIONS if texts.get(question)), None)
    if key is None and len(texts) == 1:
        key = next(iter(texts))
    return texts[key] if key else "\n".join(f"{item}: {text}" for item, text in texts.items())


def _merge_speakers(chat: Sequence[ChatMessage], values: Vars) -> list[dict[str, str]]:
    """Return what was said before and now; messages of one speaker in a row are one."""
    spoken: list[dict[str, str]] = []
    for message in chat:
        content = message.content.message(values)
        if message.role == "system" or not content:
            continue
        if spoken and spoken[-1]["role"] == message.role:
            spoken[-1]["content"] += f"\n\n{content}"
        else:
            spoken.append({"role": message.role, "content": content})
    return spoken


def read_prompts(spot: ProjectSpot, variables: Iterable[Vars]) -> list[PromptTemplate]:
    """Read all prompts; those that cannot be read are reported and left out.

    Without any, what is asked is in the `variables` of the tests.
    """
    if spot.value is None:
        if any("prompt" in values for values in variables):
            return [_prompt(spot, "PromptTemplate", DEFAULT, ())]
        spot.say(_NO_PROMPTS, level="guess")
        return [_by_variable(spot, "PromptTemplate")]
    prompts: list[PromptTemplate] = []
    for entry in _entries(spot):
        for prompt in _read(entry, len(prompts) + 1):
            if problem := prompt.text.problem:
                entry.lose(f"{problem}. This prompt is left out with all of its cases.", checks=1)
            elif prompt.chat is not None and any(item.role == "" for item in prompt.chat):
                entry.lose(
                    "The only roles here are system, user and assistant. This prompt is left out.",
                    checks=1,
                )
            else:
                prompts.append(prompt)
    slugs = map(slug_of, distinct_names([item.slug for item in prompts]))
    return [replace(item, slug=slug) for item, slug in zip(prompts, slugs, strict=True)]


def _entries(spot: ProjectSpot) -> Iterator[ProjectSpot]:
    """Return the entries of a list; of a file that contains one, its entries."""
    for entry in spot.entries():
        written = entry.value
        if is_file(written) and written.endswith((".yaml", ".yml")):
            for file in entry.load(written):
                rows = file.value if isinstance(file.value, list) else []
                is_chat = any(isinstance(row, dict) and "role" in row for row in rows)
                yield from [entry] if is_chat or not rows else file.entries()
        else:
            yield entry


def _read(entry: ProjectSpot, number: int) -> Iterator[PromptTemplate]:
    written, label = entry.value, None
    if isinstance(written, dict):
        shape = entry.part(PromptShape)
        if shape is None:
            return
        written, label = shape.raw or shape.id, shape.label
    if not isinstance(written, str) or not written.strip():
        entry.say("Expected a prompt: a text, or file:// and the path of a file.")
        return
    name, labels = label or f"Prompt {number}", (label,) if label else ()
    if _NOT_TEXT.fullmatch(written.strip().removeprefix(FILE)):
        yield from _of_program(entry, name, labels)
    elif is_file(written) or _PATH.fullmatch(written.strip()):
        yield from _of_files(entry, written.strip(), label)
    else:
        yield _prompt(entry, name, written, labels)


def _of_program(entry: ProjectSpot, name: str, labels: tuple[str, ...]) -> Iterator[PromptTemplate]:
    """Return a prompt for the agent that the person who imports chooses; there is none for a model."""
    agent = entry.project.base.around.agent
    if agent is None:
        entry.lose(
            "A program or a server generates this prompt, so it is left out. Write it as a text, "
            "or import with --agent: then the variables of the tests are sent to that agent.",
            checks=1,
        )
        return
    entry.lose(
        f"A program or a server generates this prompt. The agent {agent} is asked the variable "
        f"that holds the question ({', '.join(_QUESTIONS)}), else all variables."
    )
    yield replace(_by_variable(entry, name), labels=labels)


def _by_variable(spot: ProjectSpot, name: str) -> PromptTemplate:
    slug = slug_of(name, instead="prompt")
    return PromptTemplate(name, slug, (), spot, NunjucksTemplate(""), None, by_program=True)


def _of_files(entry: ProjectSpot, written: str, label: str | None) -> Iterator[PromptTemplate]:
    for path in entry.files(written):
        stem = PurePosixPath(path).stem
        labels = (label or stem, path, f"file://{path}")
        if path.endswith(".csv"):
            document = entry.project.document(entry, path)
            rows = document.data if document else []
            texts = [
                (row.get("label") or f"{label or stem} {n}", row.get("prompt", ""))
                for n, row in enumerate(rows, 1)
            ]
            yield from (_prompt(entry, name, text, (name, *labels)) for name, text in texts if text)
            continue
        text = entry.project.text(entry, path)
        if text is None:
            continue
        parts = _BETWEEN.split(text) if path.endswith((".txt", ".md", ".j2")) else [text]
        for n, part in enumerate(filter(str.strip, parts), 1):
            name = (label or stem) if len(parts) == 1 else f"{label or stem} {n}"
            yield _prompt(entry, name, part.strip(), (name, *labels))


def _prompt(spot: ProjectSpot, name: str, text: str, labels: tuple[str, ...]) -> PromptTemplate:
    now = _CONVERSATION.sub("", text)
    slug, chat = slug_of(name, instead="prompt"), _chat(now)
    return PromptTemplate(
        name, slug, labels, spot, NunjucksTemplate(now), chat, is_conversation=now != text
    )


def _chat(text: str) -> list[ChatMessage] | None:
    """Read a text as a chat; None if it is not one."""
    try:
        data = json.loads(text) if text.lstrip().startswith("[") else None
        if text.lstrip().startswith("- role:"):
            data = read_yaml("", text.encode()).data
    except (ValueError, RecursionError, FormatError):
        return None
    if not isinstance(data, list) or not data:
        return None
    if not all(isinstance(item, dict) and "role" in item for item in data):
        return None
    return [
        ChatMessage(_ROLES.get(str(item["role"]), ""), _content(item.get("content")))
        for item in data
    ]


def _content(written: object) -> NunjucksTemplate:
    if isinstance(written, list):
        # Pictures and documents are shown as files, where a variable names one.
        texts = [item.get("text") for item in written if isinstance(item, dict)]
        return NunjucksTemplate("\n".join(text for text in texts if isinstance(text, str)))
    return NunjucksTemplate(written if isinstance(written, str) else "")
