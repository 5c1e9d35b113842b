"""A model with given answers, and questions about small trials."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from evals_app.engine.judging import Asker, ModelJudge
from evals_app.engine.llm.call import ModelCall, ModelReply, UserMessage
from evals_app.engine.record.aids import ChecklistItem, ChecklistQuestion, JudgeQuestion, Scale
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import ModelSpec
from tests.engine.graders.makers import make_trial, make_turn

MODEL = ModelSpec(provider="anthropic", name="claude-haiku-5-5")
OTHER = ModelSpec(provider="openai", name="gpt-6-mini")
THIRD = ModelSpec(provider="gemini", name="gemini-4-flash")


Answer = str | Mapping[str, Any] | ModelReply | Exception


class FakeModel:
    """Answers with the given replies in order, or as one function says; keeps what it was asked."""

    def __init__(self, *answers: Answer | Callable[[ModelCall], Answer]) -> None:
        self.answers = list(answers)
        self.asked: list[ModelCall] = []

    async def __call__(self, call: ModelCall) -> ModelReply:
        self.asked.append(call)
        is_endless = callable(self.answers[0]) and len(self.answers) == 1
        answer = self.answers[0] if is_endless else self.answers.pop(0)
        if callable(answer):
            answer = answer(call)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelReply):
            return answer
        return reply(answer if isinstance(answer, str) else json.dumps(answer))

    @property
    def purposes(self) -> list[str]:
        return [call.purpose for call in self.asked]


def reply(text: str = "", **fields: Any) -> ModelReply:
    return ModelReply(text=text, model="claude-haiku-5-5-x", **fields)


def text_of(call: ModelCall) -> str:
    """Return all that people wrote in a call."""
    return "\n\n".join(part.text for part in call.messages if isinstance(part, UserMessage))


def requirement(
    met: str = "yes", quote: str = "comes on Friday", text: str = "date", where: str = "turn 2"
) -> dict[str, Any]:
    """Write what a judge finds of a requirement; without a quote there is nothing to quote."""
    return {
        "requirement": text,
        "absent": not quote,
        "quote": quote,
        "where": where if quote else "",
        "met": met,
    }


def verdict(score: int | None = 4, *met: str, **changes: Any) -> str:
    """Write a reply; what is required is `met` as the verdict says, unless it is given."""
    word = changes.get("verdict", "graded")
    usual = "undecided" if word == "cannot_grade" else "no" if word == "fail" else "yes"
    usual = "no" if score == 1 and usual == "yes" else usual
    data = {
        "requirements": [requirement(word) for word in met or (usual,)],
        "critique": "Names the date.",
        "injection_suspected": False,
        "verdict": word,
    }
    return json.dumps(data | ({} if score is None else {"score": score}) | changes)


def make_asker(complete: FakeModel, model: ModelSpec = MODEL, **changes: Any) -> Asker:
    return Asker(**{"complete": complete, "model": model, "secret": b"of the run", **changes})


def make_judge(complete: FakeModel, *models: ModelSpec, **changes: Any) -> ModelJudge:
    advice = {key: changes.pop(key) for key in ("judge_prompt", "judge_context") if key in changes}
    askers = tuple(make_asker(complete, model, **changes) for model in models or (MODEL,))
    return ModelJudge(askers=askers, **advice)


def make_scripted(*replies: ModelReply | Exception) -> ModelJudge:
    model = ModelSpec(provider="scripted", name="judge")
    return make_judge(FakeModel(*replies), model, is_scripted=True)


def view_of_two(text: str = "It comes on Friday.", *, model: str | None = None) -> View:
    """Look at the second of two turns."""
    trial = make_trial(make_turn("Hello."), make_turn(text, index=2, model=model))
    return View(trial, trial.turns[1])


def make_question(
    text: str = "It comes on Friday.", scale: Scale = "1-5", *, votes: int = 1
) -> JudgeQuestion:
    return JudgeQuestion("Names the date", scale, view_of_two(text), key="0", votes=votes)


def make_checklist(
    *texts: str, reply: str = "It comes on Friday.", votes: int = 1
) -> ChecklistQuestion:
    items = tuple(ChecklistItem(number, text) for number, text in enumerate(texts, 1))
    return ChecklistQuestion(items, view_of_two(reply), key="0", votes=votes)
