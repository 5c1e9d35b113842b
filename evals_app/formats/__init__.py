"""Bytes to specs and specs to bytes; one module for each dialect.

`read_files` is the way in: it reads the YAML (`yaml_source`), tells what each file is (`detect`),
lets its dialect make a draft of it (`native`, `struere`), and compares the drafts with each other
and with what exists (`references`). `write_native` is the way out.
"""

from evals_app.formats.detect import DIALECTS, EXPECTED, Dialect, is_eval_file
from evals_app.formats.importing import Imported, Located, SourceData, SourceFile, read_files
from evals_app.formats.native import file_name, write_native
from evals_app.formats.problems import FormatError, Problem
from evals_app.formats.references import Known
from evals_app.formats.yaml_source import MAX_BYTES

__all__ = [
    "DIALECTS",
    "EXPECTED",
    "MAX_BYTES",
    "Dialect",
    "FormatError",
    "Imported",
    "Known",
    "Located",
    "Problem",
    "SourceData",
    "SourceFile",
    "file_name",
    "is_eval_file",
    "read_files",
    "write_native",
]
