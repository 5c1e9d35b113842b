"""A grader that does harm, as one with a mistake would."""

import os
import signal
from itertools import repeat
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evals_app.engine.graders import PlainGrader
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.view import View

PIECE = 16 * 1024 * 1024
MOST = 16 * 1024 * 1024 * 1024


class Harm(PlainGrader):
    """Pass never.

    It raises, loops inside the interpreter, takes all memory, or kills its process.
    """

    label: ClassVar[str] = "Harm"
    family: ClassVar[Literal["text"]] = "text"
    example: ClassVar[dict[str, Any]] = {"how": "raise"}

    how: Annotated[Literal["raise", "loop in C", "eat", "die"], Field(title="How")]

    def grade(self, view: View) -> Grade:
        match self.how:
            case "raise":
                message = "A mistake in a grader."
                raise RuntimeError(message)
            case "loop in C":
                sum(repeat(0))  # gives no other thread a turn
            case "eat":
                # Zeros that nobody reads take no real memory: without a limit the machine survives.
                hoard = [bytes(PIECE) for _ in range(MOST // PIECE)]
                return Grade.miss(f"Nobody stopped it at {len(hoard)} pieces.")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
        return Grade.miss("It survived.")
