"""What the user says in one conversation: the turns of its case, and what a model adds to them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from evals_app.engine.basics.errors import JudgeError, ProviderError
from evals_app.engine.basics.template import escape_braces, plain
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.judging.text.blocks import make_nonce
from evals_app.engine.judging.text.transcript import TranscriptPiece, pieces_text, visible_pieces
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Trial
from evals_app.engine.running.users.replay import why_it_does_not_fit
from evals_app.engine.running.users.simulated import SimulatedUser
from evals_app.engine.suites.suite_spec import CaseSpec, TurnSpec
from evals_app.engine.suites.user_spec import SimulatedUserSpec


@dataclass(eq=False)
class UserSide:
    """The user of one conversation.

    `asker_for(key)` returns the model that plays the user, or reads whether recorded words still fit;
    cases with neither have none. `is_done` returns whether all checks that end a simulated conversation
    have passed, and `forget(key)` drops answers that are of no use, so that a later run asks again. `calls` are those of the model so far; `stopped` says why it ended the conversation.
    """

    case: CaseSpec
    asker_for: Callable[[str], Asker] | None = None
    is_done: Callable[[Trial], Awaitable[bool]] | None = None
    forget: Callable[[str], None] = lambda _: None
    calls: list[JudgeCall] = field(default_factory=list)
    stopped: str = ""

    @property
    def model(self) -> str:
        """The model that has a part in it; empty if none has."""
        return str(self.asker_for("").model) if self.asker_for else ""

    @property
    def most_turns(self) -> int:
        user = self.case.simulated_user
        return user.max_turns if user else len(self.case.turns)

    async def turns(self, trial: Callable[[], Trial]) -> AsyncGenerator[TurnSpec]:
        """Say one message after the other; `trial()` is what has happened until then.

        Raises:
            ProviderError: the API of the model did not serve a call.
        """
        try:
            for number, turn in enumerate(self.case.turns):
                if number and self.case.replay and not await self._still_fits(turn, trial()):
                    return
                yield turn
            if user := self.case.simulated_user:
                while len(trial().turns) < user.max_turns and not await self._is_done(trial()):
                    yield TurnSpec(user=escape_braces(await self._write(user, trial())))
        except JudgeError as exc:
            self.calls += exc.calls
            self.stopped = str(exc)
            self.forget(_key(trial()))
        except ProviderError as exc:
            self.calls += exc.calls
            raise

    async def _is_done(self, trial: Trial) -> bool:
        return self.is_done is not None and await self.is_done(trial)

    async def _still_fits(self, turn: TurnSpec, trial: Trial) -> bool:
        inquiry = self._inquiry(trial)
        transcript = _transcript(trial, inquiry)
        why = await why_it_does_not_fit(inquiry, plain(turn.user), trial, transcript)
        self.calls += inquiry.calls
        if why:
            done, planned = len(trial.turns), len(self.case.turns)
            self.stopped = (
                f"After turn {done} of {planned} the user's recorded words no longer fit. {why}"
            )
        return not why

    async def _write(self, spec: SimulatedUserSpec, trial: Trial) -> str:
        inquiry = self._inquiry(trial)
        given = tuple(plain(turn.user) for turn in self.case.turns)
        message = await SimulatedUser(spec, inquiry, given=given).write(
            trial, _transcript(trial, inquiry)
        )
        self.calls += inquiry.calls
        return message

    def _inquiry(self, trial: Trial) -> Inquiry:
        if self.asker_for is None:
            raise JudgeError("No model can play the user.")
        key = _key(trial)
        asker = self.asker_for(key)
        if self.case.simulated_user:  # says something else in each trial, unlike a judge
            asker = replace(asker, who="The model that plays the user", is_alone=False)
        return Inquiry(asker, make_nonce(asker.secret, trial.case, trial.number, key))


def _key(trial: Trial) -> str:
    return f"user.{len(trial.turns) + 1}"


def _transcript(trial: Trial, inquiry: Inquiry) -> str:
    """Return what user and agent have said: of tools the user sees nothing."""
    pieces = [TranscriptPiece(None, message.role, message.text) for message in trial.history]
    for number, turn in enumerate(trial.turns, 1):
        pieces.append(TranscriptPiece(number, "user", turn.user))
        pieces.append(TranscriptPiece(number, "agent", turn.reply or "(no reply)"))
    return pieces_text(visible_pieces(pieces, inquiry.nonce), inquiry.nonce)
