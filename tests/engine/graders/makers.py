"""Small trials for the tests of graders and judges."""

from typing import Any

from evals_app.engine.record.aids import MetricScore, RagQuestion, StepsQuestion
from evals_app.engine.record.trial import Chunk, Message, ToolCall, Trial, TurnRecord
from evals_app.engine.record.view import View


def make_call(name: str = "entity.query", /, **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args)


def make_turn(
    reply: str = "",
    *,
    user: str = "Hello",
    calls: tuple[ToolCall, ...] = (),
    index: int = 1,
    **changes: Any,
) -> TurnRecord:
    message = Message("assistant", reply, calls)
    known = {"latency_ms": 0.0, **changes}
    return TurnRecord(index=index, user=user, reply=reply, messages=(message,), **known)


def make_trial(*turns: TurnRecord, **changes: Any) -> Trial:
    fields = {"case": "Refund", "number": 1, "planned_turns": len(turns), "agent": "support"}
    return Trial(**{**fields, "turns": turns, **changes})


def view_of(reply: str = "", *, expected: str | None = None, calls: Any = ()) -> View:
    """Look at a conversation of one turn."""
    turn = make_turn(reply, calls=tuple(calls))
    return View(make_trial(turn), turn, expected_text=expected)


def view_of_chunks(*ids: str) -> View:
    """Look at a turn that fetched chunks, one search for each."""
    return view_of(
        calls=[
            ToolCall("knowledge.search", {"query": id_}, chunks=(Chunk(id_, f"text of {id_}"),))
            for id_ in ids
        ]
    )


class FakeMeasure:
    """Gives one result and remembers what it was asked."""

    def __init__(self, score: float | None = 0.5, **fields: Any) -> None:
        self.found = MetricScore(score=score, **{"reason": "Because.", **fields})
        self.asked: list[RagQuestion | StepsQuestion] = []

    async def __call__(self, question: RagQuestion | StepsQuestion) -> MetricScore:
        self.asked.append(question)
        return self.found
