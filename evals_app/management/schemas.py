"""Writes the JSON Schemas of native files, for editors."""

import json
from pathlib import Path

from evals_app.management.whole_files import write_whole
from evals_app.reports.reference.spec_schema import file_schemas

# Beside the files that name them; hidden, so that no import looks in it.
FOLDER = ".evalwell"


def schema_line(kind: str) -> str:
    """Return the first line of a file, by which editors find the schema of its kind."""
    return f"# yaml-language-server: $schema={FOLDER}/{kind}.schema.json\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write the schemas of all kinds of files to a folder, and return those that are new.

    Raises:
        OSError: one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [
        folder / name
        for name, schema in file_schemas().items()
        if write_whole(folder / name, f"{json.dumps(schema, indent=2)}\n".encode())
    ]
