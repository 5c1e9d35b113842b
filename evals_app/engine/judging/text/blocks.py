"""Blocks of a judge prompt: untrusted text between delimiters that it cannot write itself.

A block is `<NAME-nonce>` text `</NAME-nonce>`. The nonce comes from a secret of the run, so the
agent cannot know it; and whatever looks like such a tag becomes a visible escape, so that the agent
could not close the block even if it did.
"""

import hashlib
import hmac
import json
import re

from evals_app.engine.basics.folding import INVISIBLE

NAMES = (
    *("CRITERIA", "REFERENCE", "AGENT_SYSTEM_PROMPT", "TOOLS", "TODAY", "TRANSCRIPT", "SUBMISSION"),
    *("EARLIER", "QUESTION", "ANSWER", "EXPECTED", "CONTEXT", "CHUNKS", "SEGMENTS", "CLAIMS"),
    *("STEPS", "PERSON", "NEXT"),
)
_NONCE_CHARS = 12

# Also written with signs that only look like angle brackets.
_LOOK_ALIKE = re.compile(
    rf"[<\u2039\u2329\u276e\u27e8\u3008\ufe64\uff1c](?=\s{{0,9}}[/\u2044\u2215\uff0f]?\s{{0,9}}(?:{'|'.join(NAMES)}))",
    re.IGNORECASE,
)


def make_nonce(secret: bytes, *parts: str | int) -> str:
    """Derive a delimiter that cannot be guessed without the secret."""
    # JSON, so that ("a", "bc") and ("ab", "c") differ.
    message = json.dumps(parts).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:_NONCE_CHARS]


def escape_text(text: str, nonce: str) -> str:
    """Make invisible characters, look-alike tags and the nonce itself visible and harmless."""
    text = INVISIBLE.sub(_code, text.replace("\r\n", "\n"))
    text = _LOOK_ALIKE.sub(_code, text)
    return text.replace(nonce, "*" * len(nonce))


def _code(match: re.Match[str]) -> str:
    point = ord(match[0])
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"  # noqa: PLR2004 - four digits


def block(name: str, content: str, nonce: str) -> str:
    """Put escaped content between its delimiters."""
    return f"<{name}-{nonce}>\n{content}\n</{name}-{nonce}>"
