"""Signatures of webhooks, by the scheme of Standard Webhooks: HMAC-SHA256 of id, time and body."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

_PREFIX = "whsec_"


def secret_text(key: bytes) -> str:
    """Return a key as people copy it into their programs."""
    return _PREFIX + base64.b64encode(key).decode("ascii")


def signed_headers(key: bytes, *, message_id: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """Return the headers with which a message is sent."""
    timestamp = str(int(at.timestamp()))
    content = b".".join([message_id.encode(), timestamp.encode(), body])
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature.decode('ascii')}",
    }
