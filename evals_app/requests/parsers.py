"""Parsers of bodies: JSON as safe as the YAML of files, raw YAML, uploads."""

import io
from typing import IO, Any

from django.utils.http import parse_header_parameters
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser, MultiPartParser

from evals_app.formats.reading.problems import keys_text
from evals_app.requests.problems import RefusedError, error_at, refused_at
from fixtures_app.ground.json_data import json_problems
from fixtures_app.ground.strict_json import read_strictly

MAX_BODY = 20 * 1024 * 1024


class TooLargeError(APIException):
    """413."""

    status_code = 413
    default_detail = f"The body is larger than {MAX_BODY // 1024 // 1024} MB."


class BytesParser(BaseParser):
    """Any body, as bytes, unless it is too large."""

    media_type = "*/*"

    def parse(self, stream: IO[bytes], *_args: object, **_kwargs: object) -> Any:
        return _read(stream)


def _read(stream: IO[bytes]) -> bytes:
    raw = stream.read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise TooLargeError
    return raw


# The file readers report lines. Only the first of these names is registered.
YAML_PARSERS = tuple(
    type("YamlParser", (BytesParser,), {"media_type": media_type})
    for media_type in ("application/yaml", "application/x-yaml", "text/yaml")
)


class JsonParser(BytesParser):
    """JSON; repeated keys, NaN, NUL characters and endless nesting are refused."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], *_args: object, **_kwargs: object) -> Any:
        raw = _read(stream)
        try:
            data = read_strictly(raw.decode("utf-8-sig"))
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {str(error).rstrip('.')}.") from error
        errors = [
            error_at(keys_text(problem.loc), problem.message) for problem in json_problems(data)
        ]
        if errors:
            raise RefusedError("The body contains values that cannot be stored.", errors=errors)
        return data


class MergePatchParser(JsonParser):
    """A JSON Merge Patch (RFC 7396): the keys to change."""

    media_type = "application/merge-patch+json"


def merge_patch(stored: object, patch: object) -> Any:
    """Return what is stored with the keys of a patch: null removes a key, a list replaces a list."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(stored) if isinstance(stored, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


class UploadParser(MultiPartParser):
    """An upload of at most `MAX_BODY`; an unreadable part is refused.

    Django skips such a part, so an import would silently lack a file.
    """

    def parse(self, stream: Any, media_type: Any = "", parser_context: Any = None) -> Any:
        raw = _read(stream)
        upload = super().parse(io.BytesIO(raw), media_type, parser_context)
        _, parameters = parse_header_parameters(media_type)
        between = b"--" + parameters["boundary"].encode()
        sent = raw.count(between) - raw.count(between + b"--")
        if sent > sum(
            len(parts) for fields in (upload.data, upload.files) for _, parts in fields.lists()
        ):
            raise refused_at(
                "",
                "A part of the upload cannot be read. Give every part a name and a file name,"
                " both in UTF-8.",
            )
        return upload
