"""What checks of plug-ins are made of; packages import it from `evalwell.plugins`.

A check is a frozen pydantic class, as ours are: its fields are the options of files, forms and REST, and
`grade` turns a `View` of a conversation into a `Grade`. docs/plugins.md has an example.
"""

from pydantic import Field, field_validator, model_validator

from evals_app.engine.graders.kit.base import (
    AidedGrader,
    Grader,
    JudgedGrader,
    PlainGrader,
    TextGrader,
)
from evals_app.engine.record.aids import Aids, Judge
from evals_app.engine.record.grade import Evidence, Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View

__all__ = [
    "AidedGrader",
    "Aids",
    "Cause",
    "Evidence",
    "Field",
    "Grade",
    "Grader",
    "Judge",
    "JudgedGrader",
    "PlainGrader",
    "TextGrader",
    "View",
    "field_validator",
    "model_validator",
]
