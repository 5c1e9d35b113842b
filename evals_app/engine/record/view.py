"""The part of a trial that one check sees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evals_app.engine.basics.errors import CallsMissingError
from evals_app.engine.record.trial import Chunk, ToolCall, Trial, TurnRecord


@dataclass(frozen=True, slots=True)
class View:
    """A Trial as one assertion sees it: a single turn, or (`turn` None) the whole conversation.

    `expected_text` is the turn's expected answer. With `whole_text` the text to grade is every
    reply of the conversation, else the reply of the turn, or at the end the last one. `context`,
    `retrieval_context` and `config` are what the case provides for graders alone.
    """

    trial: Trial
    turn: TurnRecord | None = None
    expected_text: str | None = None
    whole_text: bool = False
    context: tuple[str, ...] | None = None
    retrieval_context: tuple[str, ...] | None = None
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def reply(self) -> str:
        """The text to grade."""
        if self.whole_text:
            return "\n\n".join(turn.reply for turn in self.turns)
        if self.turn is not None:
            return self.turn.reply
        return self.trial.turns[-1].reply if self.trial.turns else ""

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The turns in view: one, or all that ran."""
        return self.trial.turns if self.turn is None else (self.turn,)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """What was called in the turns in view.

        Raises:
            CallsMissingError: it is unknown, because spans did not arrive.
        """
        return tuple(call for turn in self.turns for call in _calls_of(turn))

    @property
    def reports_calls(self) -> bool:
        """Whether `tool_calls` is all that was called."""
        return all(turn.reports_calls for turn in self.turns)

    @property
    def reports_lookups(self) -> bool:
        """Whether `chunks` is all that was looked up."""
        return all(turn.reports_calls or _looked_up([turn]) for turn in self.turns)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What retrieval tools returned in the turns in view, in order, duplicates included."""
        return tuple(chunk for call in self.tool_calls for chunk in call.chunks)

    def retrieved_chunks(self) -> tuple[Chunk, ...] | None:
        """Return the knowledge that the reply can be based on; None if nothing was ever looked up.

        That is what the case provides for the turn, else what retrieval tools returned in it, else
        in the latest earlier turn with any. Duplicates are left out.
        """
        if self.retrieval_context is not None:
            given = enumerate(self.retrieval_context, 1)
            return tuple(Chunk(str(number), text) for number, text in given)
        if self.turn is None:
            return _without_duplicates(self.chunks) if _looked_up(self.turns) else None
        for turn in reversed(self._up_to_now()):
            if _looked_up([turn]):
                return _without_duplicates(c for call in turn.tool_calls for c in call.chunks)
        return None

    @property
    def world_journal(self) -> tuple[dict[str, Any], ...]:
        """Each change of the world in the turns in view.

        Raises:
            ValueError: the transcript does not record in which turn the world changed.
        """
        first, end = self._journal_range()
        return self.trial.world_journal[first:end]

    @property
    def earlier_journal(self) -> tuple[dict[str, Any], ...]:
        """Each change of the world before the turns in view.

        Raises:
            ValueError: the transcript does not record in which turn the world changed.
        """
        first, _ = self._journal_range()
        return self.trial.world_journal[:first]

    def _journal_range(self) -> tuple[int, int]:
        whole = len(self.trial.world_journal)
        seen = self._up_to_now()
        if not whole or (self.turn is None and len(seen) == self.trial.planned_turns):
            return 0, whole
        ends = [0, *(turn.journal_end for turn in seen)]
        first, end = (0 if self.turn is None else ends[-2]), ends[-1]
        if first is None or end is None:
            raise ValueError(
                "This transcript does not record in which turn the world changed. Run the case again."
            )
        return first, end

    def _up_to_now(self) -> tuple[TurnRecord, ...]:
        turns = self.trial.turns
        place = next((n for n, turn in enumerate(turns, 1) if turn == self.turn), len(turns))
        return turns[:place]

    def expected_value(self, own: str | None) -> str:
        """Return the assertion's own value, else the turn's expected text.

        Raises:
            ValueError: neither exists; `grading` rules that out before it calls a grader.
        """
        text = self.expected_text if own is None else own
        if text is None:
            raise ValueError("This check needs an expected text, but there is none.")
        return text


def _calls_of(turn: TurnRecord) -> tuple[ToolCall, ...]:
    if turn.calls_missing:
        raise CallsMissingError(turn.calls_missing)
    return turn.tool_calls


def _looked_up(turns: Iterable[TurnRecord]) -> bool:
    return any(call.chunks or call.is_retrieval for turn in turns for call in _calls_of(turn))


def _without_duplicates(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    return tuple({(chunk.id, chunk.text): chunk for chunk in chunks}.values())
