"""What an import left out of the files of a suite, in words."""

from evals_app.reports.answers.run_answers import Json, Loss, LossesJson, Row

TITLE = "Left out of the files of this suite"


def losses_json(stored: Row) -> Json | None:
    """Return what a run remembers of an import as it is answered; None: nothing was left out."""
    if not stored:
        return None
    places = ("line", "column")
    parts = [
        Loss.of(part, **{key: part[key] or None for key in places}) for part in stored["parts"]
    ]
    return LossesJson.of(stored, parts=parts)


def checks_not_read(lost: int, read: int) -> str:
    """Return how many checks were not read."""
    total = lost + read
    return f"{lost:,} of {total:,} check{'' if total == 1 else 's'} {'was' if lost == 1 else 'were'} not read"


def losses_note(losses: Row) -> str:
    """Return what makes a verdict mean less: the checks that were lost; empty if none was."""
    if not losses["checks_lost"]:
        return ""
    words = checks_not_read(losses["checks_lost"], losses["checks_read"])
    return f"When its files were imported, {words}. The verdict says nothing about them."


def loss_lines(losses: Row | None) -> list[str]:
    """Return a line for each part that was left out; those that are checks say so."""
    if losses is None:
        return []
    more = f"and {losses['more']:,} more"
    return [*map(_line, losses["parts"]), *([more] if losses["more"] else [])]


def _line(part: Row) -> str:
    place = ":".join(str(item) for item in (part["path"], part["line"], part["column"]) if item)
    keys = f" {part['keys']}:" if part["keys"] else ""
    what = "Check" if part["checks"] else "Other"
    return f"{what}: {place}:{keys} {part['message']}"
