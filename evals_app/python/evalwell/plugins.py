"""What a package imports that offers checks, judges, readers or reports by entry points: docs/plugins.md."""

from evals_app.engine.graders.kit.plugin import (
    AidedGrader,
    Aids,
    Cause,
    Evidence,
    Field,
    Grade,
    Grader,
    Judge,
    JudgedGrader,
    PlainGrader,
    TextGrader,
    View,
    field_validator,
    model_validator,
)
from evals_app.engine.llm.judge_plugins import (
    JudgePlugin,
    JudgeReply,
    JudgeRequest,
    single_verdict,
)
from evals_app.formats.reader_plugins import FileReader, FileToRead, ReadPart
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.reports.words.report_plugins import FileReport

__all__ = [
    "AidedGrader",
    "Aids",
    "Cause",
    "Evidence",
    "Field",
    "FileReader",
    "FileReport",
    "FileToRead",
    "FormatError",
    "Grade",
    "Grader",
    "Judge",
    "JudgePlugin",
    "JudgeReply",
    "JudgeRequest",
    "JudgedGrader",
    "PlainGrader",
    "Problem",
    "ReadPart",
    "TextGrader",
    "View",
    "field_validator",
    "model_validator",
    "single_verdict",
]
