"""Evals of the hosted product: each becomes a suite, its items cases, its run's model an agent."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals_app.engine.basics.template import escape_braces as with_backslashes
from evals_app.formats.foreign.chats import (
    IN_PROMPTS,
    Chat,
    chat_of,
    content_text,
    own_prompt,
    read_chat,
)
from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.reply_formats import format_settings
from evals_app.formats.foreign.shapes import ReaderContext, SourcePlaces, distinct_names, slug_of
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.suites import agent_problem
from evals_app.formats.foreign.words import MESSAGES, USER, plain
from evals_app.formats.openai_evals.criteria import JudgeCriterion, model_of, read_criteria
from evals_app.formats.openai_evals.items import DataItem, Origin, items_of
from evals_app.formats.openai_evals.parts import LostPartError, Missed, Parts, parts_of
from evals_app.formats.openai_evals.shapes import Eval, Messages, Run
from evals_app.formats.openai_evals.suites import (
    SampleCase,
    SampleSuite,
    suite_draft,
)
from evals_app.formats.openai_evals.templates import Template, path_of, value_at
from evals_app.formats.reading.problems import Json

_NAME_CHARS = 200
_SLUG_CHARS = 100
_NO_ANSWER = "There is no canned answer for this tool yet."
_TOOLS = (
    f"Calls of these tools are recorded and fail: {_NO_ANSWER} Add answers to the agent, as rules."
)
_NO_EVAL = (
    "The eval of this run is not here, so its criteria are unknown. Save it too (GET /v1/evals/{}) "
    "and import both together."
)
_NO_EVAL_OF_ITEMS = (
    "These are items of an eval, and the eval is not here. Save it too (GET /v1/evals/EVAL) and "
    "import both together, or import the items alone, as a table: --format table."
)
_NO_CRITERIA = (
    "None of these criteria can be checked here. The cases are imported without checks; add some "
    "before you run them."
)
_NOTHING_ASKED = (
    "This item has no message from the user. Name one in the run's input_messages, or call its field "
    "`input` or `question`. The item is left out."
)


def read_hosted(
    readings: Sequence[ForeignFile], around: ReaderContext, missed: Missed
) -> Iterator[Draft]:
    """Read the evals, runs, results and items of all files together."""
    parts = parts_of(readings)
    evals = [(spot, asked) for spot in parts.evals if (asked := spot.part(Eval))]
    runs = [(spot, run) for spot in parts.runs if (run := spot.part(Run))]
    slugs = distinct_names([_slug(spot, asked) for spot, asked in evals])
    missed += _without_eval(evals, runs, parts)
    if readings and not (parts.evals or parts.runs or parts.items or parts.outputs):
        missed.append((Spot(readings[0]), "There is no eval in this file."))
    for (spot, asked), slug in zip(evals, slugs, strict=True):
        mine = [(at, run) for at, run in runs if _belongs(at, run, spot, asked, len(evals))]
        suite = _Suite(spot, asked, slug_of(slug), mine, parts, around, is_alone=len(evals) == 1)
        try:
            yield from suite.drafts()
        except LostPartError as lost:
            missed.append((suite.ran or spot, str(lost)))


def _without_eval(
    evals: Sequence[tuple[Spot, Eval]], runs: Sequence[tuple[Spot, Run]], parts: Parts
) -> Missed:
    """Name runs and items whose eval is not here."""
    missed = [
        (at, _NO_EVAL.format(run.eval_id or "EVAL"))
        for at, run in runs
        if not any(_belongs(at, run, spot, asked, len(evals)) for spot, asked in evals)
    ]
    if not parts.evals:
        missed += [(spot, _NO_EVAL_OF_ITEMS) for spot in (parts.items or parts.outputs)[:1]]
    return missed


def _slug(spot: Spot, asked: Eval) -> str:
    stem = posixpath.basename(spot.document.path).split(".")[0]
    return slug_of(asked.name or stem, instead=slug_of(stem))


def _belongs(at: Spot, run: Run, spot: Spot, asked: Eval, count: int) -> bool:
    """Whether a run is one of this eval: by its id, or because no other eval is near."""
    if run.eval_id is not None and asked.id is not None:
        return run.eval_id == asked.id
    folders = {posixpath.dirname(item.document.path) for item in (at, spot)}
    return count == 1 or len(folders) == 1


@dataclass(slots=True)
class _Suite:
    """An eval while its agent and its suite are made."""

    spot: Spot
    asked: Eval
    slug: str
    runs: Sequence[tuple[Spot, Run]]
    parts: Parts
    around: ReaderContext
    is_alone: bool
    ran: Spot | None = None
    run: Run | None = None
    templates: list[tuple[str, Template, Spot]] = field(default_factory=list)

    @property
    def _messages(self) -> Messages | None:
        return self.run.data_source.input_messages if self.run else None

    def drafts(self) -> Iterator[Draft]:
        """Return the agent, if the run says which model, and the suite.

        Raises:
            LostPartError: it has no items, or nothing is asked in them.
        """
        self._choose_run()
        criteria = read_criteria(list(self.spot.at("testing_criteria").entries()))
        self._read_templates()
        origin = Origin(self.asked, self.spot, self.run, self.ran, self.parts, self.is_alone)
        cases = [case for item in items_of(origin) if (case := self._case(item, criteria))]
        if not cases:
            raise LostPartError("This eval has no items that can be asked, so no suite is made.")
        if not criteria:
            self.spot.at("testing_criteria").say(_NO_CRITERIA, level="warning")
        name = (self.asked.name or self.slug)[:_NAME_CHARS]
        system = self._system(cases)
        agent, made = self._agent(name, system)
        if made is not None:
            yield made
        metadata = self.asked.metadata or {}
        tags = [f"{key}={value}"[:_NAME_CHARS] for key, value in metadata.items()]
        has_parameters = made is None or system == IN_PROMPTS
        written = SampleSuite(name, self.slug, agent, tags, cases, has_parameters=has_parameters)
        yield suite_draft(written, self.spot)

    def _choose_run(self) -> None:
        """Take the newest run that was completed; what the others asked is left out."""
        # One that failed, or was not finished, may have asked nothing.
        completed = [pair for pair in self.runs if pair[1].status in (None, "completed")]
        newest = max(completed or self.runs, key=lambda pair: pair[1].created_at or 0, default=None)
        if newest is None:
            return
        self.ran, self.run = newest
        for spot, run in self.runs:
            if run is not self.run:
                name = self.run.name or self.run.id or "another one"
                spot.lose(f"Only the most recent completed run of an eval is read: {name}.")

    def _read_templates(self) -> None:
        if self.ran is None or self._messages is None or self._messages.template is None:
            return
        for spot in self.ran.at("data_source", "input_messages", "template").entries():
            written = spot.value
            role = written.get("role") if isinstance(written, dict) else None
            if not isinstance(written, dict) or not isinstance(role, str):
                spot.say("A message has a `role` and a `content`.")
                continue
            text, is_all = content_text(written.get("content"))
            if not is_all:
                spot.lose("Images, audio and files in messages are left out.")
            template = Template(text)
            for item in template.unknown:
                spot.lose(f"{item} is not a variable of an item and is sent as it is.")
            self.templates.append((role, template, spot))

    def _case(self, item: DataItem, criteria: Sequence[JudgeCriterion]) -> SampleCase | None:
        chat, asked_at = self._chat(item)
        if chat is None:
            item.spot.lose(_NOTHING_ASKED, checks=len(criteria))
            return None
        checks = [(criterion, criterion.check(item.spot, item.data)) for criterion in criteria]
        return SampleCase(
            item.spot,
            _name(item.data),
            chat,
            asked_at,
            [(check, entry.spot, entry.expects) for entry, check in checks if check is not None],
        )

    def _chat(self, item: DataItem) -> tuple[Chat | None, Spot]:
        """Return what is asked for an item, and where that is written."""
        messages = self._messages
        if self.templates:
            missing = (
                name for _, template, _ in self.templates for name in template.missing(item.data)
            )
            for name in dict.fromkeys(missing):
                message = (
                    f"The prompt uses {{{{{name}}}}}, which this item does not have: it is empty."
                )
                item.spot.say(message, level="warning")
            filled = [
                {"role": role, "content": template.fill(item.data, lambda _: "")}
                for role, template, _ in self.templates
            ]
            return read_chat(filled), self.templates[0][2]
        if messages is not None and messages.item_reference is not None and self.ran is not None:
            path = path_of(messages.item_reference)
            return chat_of(value_at(item.data, path or ())), item.spot
        if item.messages is not None:
            return read_chat(item.messages), item.spot
        keys = {plain(key): value for key, value in item.data.items()}
        for word in (*MESSAGES, *USER):
            if chat := chat_of(keys.get(word)):
                return chat, item.spot
        return None, item.spot

    def _system(self, cases: Sequence[SampleCase]) -> str:
        """Return the system prompt for all cases; if they differ, each brings its own as a parameter."""
        texts = {case.chat.system for case in cases}
        if len(texts) == 1:
            return with_backslashes(texts.pop())
        return IN_PROMPTS if texts else ""

    def _agent(self, name: str, system: str) -> tuple[str, Draft | None]:
        """Return the slug of the agent that is asked, and the agent itself if it is made here."""
        source = self.run.data_source if self.run else None
        model = (source.model if source else None) or (self.run.model if self.run else None)
        named = self.around.agent
        if named is None and model and model.startswith("scripted/"):
            named = model.removeprefix("scripted/")
        if named is not None:
            if system:
                (self.ran or self.spot).lose(own_prompt(named))
            return named, None
        if not model or self.ran is None:
            self.spot.reading.problems.append(agent_problem(self.spot.document, self.spot.loc))
            return "", None
        sampling = source.sampling_params if source else None
        slug = f"{self.slug}-{slug_of(model)}"[:_SLUG_CHARS].rstrip("-")
        places = SourcePlaces(self.ran.document, (*self.ran.loc, "data_source"))
        data = {
            "agent": f"{name} ({model})"[:_NAME_CHARS],
            "slug": slug,
            "model": model_of(model, sampling),
            "system_prompt": system,
            "tools": self._tools(),
            **self._format(),
        }
        return slug, make_draft("agent", "openai-evals", self.ran.document, data, place=places)

    def _format(self) -> Json:
        """Return the settings with the format of replies that the run asked for."""
        if self.ran is None:
            return {}
        sampling = self.ran.at("data_source", "sampling_params")
        for spot in (sampling.at("response_format"), sampling.at("text", "format")):
            settings, problem = format_settings(spot.value)
            if problem:
                spot.lose(problem)
            if settings:
                return settings
        return {}

    def _tools(self) -> list[Json]:
        """Make tools that record their calls: nothing in a run says what they answer."""
        if self.ran is None:
            return []
        here = self.ran.at("data_source", "sampling_params", "tools")
        tools = [tool for spot in here.entries() if (tool := _tool(spot))]
        if tools:
            here.lose(_TOOLS)
        return tools


def _name(data: Json) -> str:
    values = [data.get(key) for key in ("id", "name", "title")]
    names = (str(item) for item in values if type(item) in (str, int))
    return next(filter(str.strip, names), "")[:_NAME_CHARS]


def _tool(spot: Spot) -> Json | None:
    written = spot.value
    says = written.get("function", written) if isinstance(written, dict) else None
    if not isinstance(says, dict) or not isinstance(says.get("name"), str):
        spot.lose("Only tools of the type function are imported.")
        return None
    parameters = says.get("parameters")
    description = says.get("description")
    return {
        "name": says["name"],
        "description": description if isinstance(description, str) else "",
        "parameters": parameters if isinstance(parameters, dict) else {"type": "object"},
        "rules": [{"error": _NO_ANSWER}],
    }
