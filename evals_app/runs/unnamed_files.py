"""Files that nothing names any more: their turns show others by now, or a form was refused."""

import re
from collections.abc import Iterator

from evals_app.models import Attachment, Run, SnapshotCase, Turn

AT_ONCE = 100  # contents of one transaction: other writers wait for each

# Cases of snapshots are canonical JSON, so there is no other way to write it.
_NAMES = '"sha256":"'
_NAME = re.compile(f"{_NAMES}([0-9a-f]{{64}})")


def remove_unnamed_files() -> int:
    """Remove contents that no turn names, and no snapshot of a run; return how many.

    Those that someone wanted within the last day stay: a form may be open that will name them.
    """
    unnamed = set(Attachment.objects.forgotten().values_list("pk", flat=True))
    for named in _named():
        unnamed -= named
        if not unnamed:
            return 0
    ids = sorted(unnamed)
    return sum(
        # Asked again: by now something may name it.
        Attachment.objects.forgotten().filter(pk__in=ids[start : start + AT_ONCE]).delete()[0]
        for start in range(0, len(ids), AT_ONCE)
    )


def _named() -> Iterator[set[str]]:
    """Return SHA-256s that are named: by turns, then by snapshots, which take longer to read."""
    shown = Turn.objects.exclude(files=[]).values_list("files", flat=True)
    yield {file["sha256"] for files in shown.iterator() for file in files if "sha256" in file}
    frozen = SnapshotCase.objects.filter(
        snapshot__in=Run.everything.values("snapshot"), content__contains=_NAMES
    )
    for content in frozen.values_list("content", flat=True).iterator():
        yield set(_NAME.findall(content))
