"""Measure how long the import page takes to show what a table of 10,000 rows would become.

    python -m benchmarks.preview
    python -m benchmarks.preview --rows 100000 --only csv

Works in a temporary database. Exits with 1 if a table takes more than 6 s of processor time for 10,000 rows.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import django

_FOLDER = tempfile.TemporaryDirectory()
os.environ["DATABASE_URL"] = f"sqlite:///{Path(_FOLDER.name)}/preview.sqlite3"
os.environ["EVALWELL_DATA_DIR"] = _FOLDER.name
os.environ["EVALWELL_LOG_LEVEL"] = "ERROR"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from evals_app.formats.tables.separated import write_csv_rows
from evals_app.formats.tables.workbook_writing import write_workbook

MAX_S_PER_10_000 = 6.0
_PAGE = "/admin/evals_app/suite/import/"
_HEADERS = ["Case", "Question", "Expected answer", "Must contain", "Tags"]
_AGENT = b"agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: '{{input}}'}]\n"


def rows_of(count: int) -> list[list[str]]:
    """Return the rows of a table as people fill them in: answers of several kinds."""
    answers = ("on Friday", "42", "yes", "2026-05-03", "It is sent within two days of the order.")
    return [
        [
            f"Order {n}",
            f"Where is my order {n}, and when does it arrive?",
            answers[n % len(answers)],
            f"order {n}",
            f"orders, part {n % 10}",
        ]
        for n in range(count)
    ]


def _json_lines(rows: Sequence[Sequence[str]]) -> bytes:
    records = (dict(zip(_HEADERS, row, strict=True)) for row in rows)
    return "\n".join(map(json.dumps, records)).encode()


FORMS: Mapping[str, Callable[[Sequence[Sequence[str]]], bytes]] = {
    "csv": lambda rows: write_csv_rows([_HEADERS, *rows]),
    "xlsx": lambda rows: write_workbook([("Cases", [_HEADERS, *rows])]),
    "jsonl": _json_lines,
}


def signed_in() -> Client:
    """Return a browser of somebody who may import, on a site with an agent."""
    call_command("migrate", verbosity=0)
    agent = Path(_FOLDER.name) / "echo.agent.yaml"
    agent.write_bytes(_AGENT)
    call_command("import_evals", str(agent), stdout=io.StringIO())
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("ann"))
    return client


def measure(client: Client, form: str, count: int) -> float:
    """Print and return the processor time of one preview, in seconds."""
    content = FORMS[form](rows_of(count))
    upload = SimpleUploadedFile(f"orders.{form}", content)
    began = time.process_time()
    page = client.post(_PAGE, {"files": [upload], "agent": "echo"})
    took = time.process_time() - began
    if f"{count:,} cases" not in page.content.decode():
        sys.exit(f"The page does not show {count:,} cases of {form}.")
    print(f"{form:6} {count:,} rows, {len(content) / 1e6:.1f} MB: {took:.1f} s")
    return took


def main() -> int:
    """Measure each form once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--only", choices=FORMS)
    options = parser.parse_args()
    client = signed_in()
    measure(client, "csv", 10)  # the first page loads templates
    forms = [options.only] if options.only else list(FORMS)
    longest = max(measure(client, form, options.rows) for form in forms)
    return int(longest > MAX_S_PER_10_000 * max(1, options.rows / 10_000))


if __name__ == "__main__":
    sys.exit(main())
