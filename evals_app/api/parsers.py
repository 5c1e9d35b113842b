"""What is sent: JSON with the same safety as the YAML of files, YAML as it is, uploads."""

import io
import json
from collections.abc import Mapping
from typing import Any

from django.utils.http import parse_header_parameters
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser, MultiPartParser

from evals_app.api.problems import RefusedError, error_at
from evals_app.formats.json_lines import object_once, refuse_constant
from evals_app.formats.problems import keys_text
from fixtures_app.json_data import json_problems

MAX_BODY = 20 * 1024 * 1024


class TooLargeError(APIException):
    """413."""

    status_code = 413
    default_detail = f"The body is larger than {MAX_BODY // 1024 // 1024} MB."


class JsonParser(BaseParser):
    """JSON; refused are keys that stand twice, NaN, NUL characters and endless nesting."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,  # noqa: ANN401 - a file
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - JSON
        raw = read_bounded(stream)
        try:
            data = json.loads(
                raw.decode("utf-8-sig"),
                parse_constant=refuse_constant,
                object_pairs_hook=object_once,
            )
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {str(error).rstrip('.')}.") from error
        errors = [error_at(keys_text(each.loc), each.message) for each in json_problems(data)]
        if errors:
            raise RefusedError("The body holds what cannot be stored.", errors=errors)
        return data


class BytesParser(BaseParser):
    """Whatever it is, as it is."""

    media_type = "*/*"

    def parse(
        self,
        stream: Any,  # noqa: ANN401 - a file
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - bytes, which the type of the base does not foresee
        return read_bounded(stream)


class YamlParser(BytesParser):
    """YAML, given on as bytes: the readers of files know the lines."""

    media_type = "application/yaml"


class XYamlParser(YamlParser):
    """Its name before it had one."""

    media_type = "application/x-yaml"


class TextYamlParser(YamlParser):
    """Another name."""

    media_type = "text/yaml"


class UploadParser(MultiPartParser):
    """An upload of at most `MAX_BODY`; a part that cannot be read is refused.

    Django passes such a part over, and an import would lack a file without a word.
    """

    def parse(
        self,
        stream: Any,  # noqa: ANN401 - a file
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - data and files
        raw = read_bounded(stream)
        found = super().parse(io.BytesIO(raw), media_type, dict(parser_context or {}))
        _, parameters = parse_header_parameters(media_type or "")
        between = b"--" + parameters["boundary"].encode()
        sent = raw.count(between) - raw.count(between + b"--")
        if sent > sum(
            len(parts) for each in (found.data, found.files) for _, parts in each.lists()
        ):
            message = (
                "A part of the upload cannot be read. Give each part a name and a file name,"
                " and write both in UTF-8."
            )
            raise RefusedError(message, errors=[error_at("", message)])
        return found


YAML_PARSERS = (YamlParser, XYamlParser, TextYamlParser)


def read_bounded(stream: Any) -> bytes:  # noqa: ANN401 - a file
    """Read a body, unless it is too large."""
    raw: bytes = stream.read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise TooLargeError
    return raw
