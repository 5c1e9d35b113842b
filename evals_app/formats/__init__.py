"""Bytes to specs and specs to bytes; one module for each dialect.

`read_files` is the way in: it reads the YAML (`yaml_source`), tells what each file is (`detect`),
lets its dialect make a draft of it (`native`, `struere`), and compares the drafts with each other
and with what exists (`references`). `write_native` is the way out.
"""

from evals_app.formats.attached import (
    FindFile,
    FindPaths,
    files_of,
    fitting,
    is_shown,
    nothing_beside,
)
from evals_app.formats.detect import EXPECTED, eval_files, is_eval_file, is_spreadsheet, is_table
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.differences import Difference, differences
from evals_app.formats.document import MAX_BYTES
from evals_app.formats.importing import Imported, Located, SourceData, SourceFile, read_files
from evals_app.formats.native import file_name, write_native
from evals_app.formats.problems import FormatError, Problem
from evals_app.formats.references import Known

__all__ = [
    "DIALECTS",
    "EXPECTED",
    "MAX_BYTES",
    "Difference",
    "FindFile",
    "FindPaths",
    "FormatError",
    "Imported",
    "Known",
    "Located",
    "Problem",
    "SourceData",
    "SourceFile",
    "differences",
    "eval_files",
    "file_name",
    "files_of",
    "fitting",
    "is_eval_file",
    "is_shown",
    "is_spreadsheet",
    "is_table",
    "nothing_beside",
    "read_files",
    "write_native",
]
