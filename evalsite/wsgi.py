"""The application that gunicorn loads."""

import ctypes
import gc
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO, Any

from django.core.exceptions import BadRequest
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

_M_ARENA_MAX = -8  # in malloc.h of glibc

with suppress(AttributeError):  # another C library
    # Else each thread keeps memory of its own, which the others do not use.
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
os.umask(0o077)  # caches, uploads: only this user may read what we write
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

django = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018 - loads all pages
gc.freeze()  # modules are not garbage; scanning them takes a tenth of a second


class Body:
    """The body of a request; one that ends early is refused, not read as a shorter one."""

    def __init__(self, stream: IO[bytes], length: int) -> None:
        self._stream = stream
        self._left = length

    def read(self, size: int = -1) -> bytes:
        most = self._most(size)
        return self._check_length(self._stream.read(most), least=most)

    def readline(self, size: int = -1) -> bytes:
        most = self._most(size)
        return self._check_length(self._stream.readline(most), least=min(most, 1))

    def _most(self, size: int) -> int:
        return self._left if size < 0 else min(size, self._left)

    def _check_length(self, data: bytes, *, least: int) -> bytes:
        if len(data) < least:
            raise BadRequest("The request ended before its body was complete.")
        self._left -= len(data)
        return data


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isdecimal():
        environ["wsgi.input"] = Body(environ["wsgi.input"], int(length))
    return django(environ, start_response)
