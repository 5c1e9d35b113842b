"""Conversations as text: each message begins with who wrote it, as `Customer: ...`."""

import re

from evals_app.formats.conversations.messages import AGENT, ROLES, USER

_TIME = r"(?:[\[(]?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s+)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?[\])]?)"
_LINE = re.compile(
    rf"^\s*(?P<time>{_TIME}\s*[-–|:]?\s*)?(?:\*\*|#+\s*|>\s*)?(?P<author>[^\W\d_][\w .'’-]{{0,40}}?)"  # noqa: RUF001 - as people write
    rf"\s*(?:[\[(]?{_TIME}[\])]?)?\s*:(?:\*\*)?(?:\s+|$)(?P<text>.*)$"
)
_APART = re.compile(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$", re.MULTILINE)
_MIN_AUTHORS = 2


def texts_of(pasted: str) -> list[str]:
    """Return the conversations of a text, which lines of dashes keep apart."""
    return [part.strip("\n") for part in _APART.split(pasted) if part.strip()]


def read_spoken(text: str) -> list[dict[str, str]]:
    """Read a conversation; nothing if it does not say who wrote what.

    Authors that are known words have their role. Of others the first is the user, the rest answer.
    """
    lines: list[tuple[str, list[str]]] = []
    known = _authors_of(text)
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and match["author"].strip().lower() in known:
            lines.append((match["author"].strip().lower(), [match["text"]]))
        elif lines:
            lines[-1][1].append(line.strip())
    said = [(author, "\n".join(parts).strip()) for author, parts in lines]
    return [{"role": known[author], "content": text} for author, text in said if text]


def _authors_of(text: str) -> dict[str, str]:
    """Return the roles of authors: words that begin lines more than once or after a time, or are known."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            author = match["author"].strip().lower()
            found[author] = found.get(author, 0) + (2 if match["time"] else 1)
    roles = {author: ROLES[author] for author in found if author in ROLES}
    others = [
        author for author in found if author not in roles and (found[author] > 1 or not roles)
    ]
    if len(roles) + len(others) < _MIN_AUTHORS and not roles:
        return {}
    for author in others:
        has_user = USER in roles.values()
        roles[author] = AGENT if has_user else USER
    return roles
