"""No request makes the API fail: valid ones, bent in a few hundred ways."""

import json
from collections.abc import Iterator
from io import BytesIO
from itertools import product
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from evals_app.library.importing.file_import import import_files
from evals_app.requests.problems import ProblemJson
from tests.api.clients import make_client, start_talks
from tests.library.written import EVERYTHING
from tests.makers import make_execution, make_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_limits")]

HUGE = 10**30
TEXTS = [
    *("", " ", "\0", "\ud800", "\u202e", "é" * 300, "x" * 20_000, "../../etc/passwd", "a\r\nb: c"),
    *("%00", "'; --", "<script>", "{{agentName}}", "${HOME}", "\U0001f600", "=1+1"),
]
VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        HUGE,
        -HUGE,
        1e308,
        0.1,
        [],
        {},
        [[]],
        [None],
        {"": None},
        {"a": {"b": []}},
    ),
    *TEXTS,
]
RAW = [
    *(b"", b"{", b"[]", b"null", b"0", b'""', b"\xff\xfe", b"[" * 5000, b'{"a":' * 5000),
    *(b'{"suite": NaN}', b'{"suite": 1e999}', b"9" * 6000, b'{"suite": "a", "suite": "b"}'),
    *(b"a: &a [*a]", b"&a [&b [*a, *a], *b]", b"!!python/object:os.system x", b"---\n---\n"),
    b"a: &a [1,1,1,1,1,1,1,1,1]\n"
    + b"".join(
        b"%c: &%c [%s]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(97, 106)
    ),
]
CONTENT_TYPES = [
    *("application/json", "application/yaml", "text/yaml", "multipart/form-data"),
    *("multipart/form-data; boundary=x", "text/plain", "", "application/json; charset=utf-16"),
]
IDS = ["0", "-1", str(2**63), str(HUGE), "9" * 400, "1.5", "a", "%00", "..", "%ED%A0%80", "é"]
SLUGS = ["nothing", "-", "A_b", "x" * 3000, *IDS]
PARAMETERS = [
    *("fields", "cursor", "page_size", "suite", "agent", "status", "verdict", "cause", "case"),
    *(
        "created_after",
        "created_before",
        "group",
        "run",
        "dry_run",
        "dialect",
        "path",
        "format",
        "nothing",
        "\0",
    ),
]
PARAMETER_VALUES = [
    *TEXTS[:8],
    *("id,id", "id", "*", "cD0x", "cD0tMQ==", "bz05OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "0", str(HUGE)),
    *("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2026-13-01", "true", "html"),
]
START = {
    "suite": "refunds",
    "agent": "shop",
    "model": "scripted/shop",
    "cases": ["a"],
    "tags": [],
    "trials": 1,
    "concurrency": 1,
}


@pytest.fixture
def client() -> Any:
    import_files(EVERYTHING)
    client: Any = make_client()
    client.raise_request_exception = False  # what would be a 500 shall look like one
    return client


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What answers should not be; at the end there is nothing of it."""
    faults: list[str] = []
    yield faults
    assert faults == []


@pytest.fixture
def addresses() -> dict[str, str]:
    run = start_talks()
    execution = make_execution(make_run({"A": ["passed", "failed"]}), state="failed")
    return {
        "runs": "/api/runs/",
        "run": f"/api/runs/{run.pk}/",
        "executions": f"/api/runs/{run.pk}/executions/",
        "cancel": f"/api/runs/{run.pk}/cancel/",
        "rerun": f"/api/runs/{run.pk}/rerun/",
        "execution": f"/api/executions/{execution.pk}/",
        "import": "/api/import/",
        "files": "/api/files/",
        **{noun: f"/api/{noun}/" for noun in ("suites", "agents", "fixtures", "providers")},
        "suite": "/api/suites/refunds/",
        "export": "/api/suites/refunds/export/",
        "agent": "/api/agents/shop/",
        "fixture": "/api/fixtures/orders/",
    }


def bent(data: Any, random: Random) -> Any:
    """Replace, remove, rename or double one thing somewhere in JSON."""
    if isinstance(data, dict) and data and random.random() < 0.8:
        key = random.choice(list(data))
        rest = {name: value for name, value in data.items() if name != key}
        return random.choice(
            [
                rest,
                rest | {random.choice(TEXTS): data[key]},
                data | {key: bent(data[key], random)},
                data | {key: bent(data[key], random)},
                data | {key: bent(data[key], random)},
                data | {key: random.choice(VALUES)},
            ]
        )
    if isinstance(data, list) and data and random.random() < 0.8:
        at = random.randrange(len(data))
        changed = [*data[:at], bent(data[at], random), *data[at + 1 :]]
        return random.choice([changed, changed, data[1:], [*data, data[at]]])
    return random.choice(VALUES)


def faults(response: Any, request: object) -> Iterator[str]:
    """Say what an answer should not be."""
    kind = response.headers.get("Content-Type", "")
    if response.status_code >= 500:
        yield f"{response.status_code}: {str(request)[:300]}"
    elif response.status_code >= 400 and kind != "application/problem+json":
        yield f"{response.status_code} {kind}: {str(request)[:300]}"
    elif response.status_code >= 400:
        body = json.loads(response.content)
        if body.keys() != set(ProblemJson.KEYS) or not body["detail"]:
            yield f"{body}: {str(request)[:300]}"


@pytest.mark.slow
def test_bent_bodies(client: Any, addresses: dict[str, str], complaints: list[str]) -> None:
    random = Random(1)  # the same ones each time
    suite = client.get(addresses["suite"]).json()
    files = {"files": [{"path": f.path, "content": f.content.decode()} for f in EVERYTHING]}
    valid: list[tuple[str, str, Any]] = [
        ("PUT", "suite", suite),
        ("POST", "runs", START),
        ("POST", "import", files),
        ("POST", "rerun", {"only": "all"}),
        ("POST", "cancel", {}),
    ]
    refused = 0
    for _ in range(400):
        method, name, body = random.choice([*valid, valid[0], valid[1]])
        for _ in range(random.randint(1, 3)):
            body = bent(body, random)
        content = json.dumps(body).encode()
        response = client.generic(method, addresses[name], content, "application/json")
        refused += response.status_code >= 400
        complaints += faults(response, (method, name, content))

    assert refused > 200


@pytest.mark.slow
def test_raw_bodies(client: Any, addresses: dict[str, str], complaints: list[str]) -> None:
    for raw, content_type in product(RAW, CONTENT_TYPES):
        places = [("PUT", "suite"), ("POST", "import"), ("POST", "runs"), ("POST", "files")]
        for method, name in places:
            query = {"import": "?path=a.suite.yaml", "files": "?name=a.txt"}.get(name, "")
            response = client.generic(method, addresses[name] + query, raw, content_type)
            complaints += faults(response, (method, name, raw))


def test_bent_yaml(client: Any, addresses: dict[str, str], complaints: list[str]) -> None:
    random = Random(2)
    whole = {file.path: file.content for file in EVERYTHING}
    for _ in range(150):
        path = random.choice(list(whole))
        content = bytearray(whole[path])
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(content))
            junk = random.choice(
                [b"", b"\0", b"\xff", b"\t", b"- ", b": ", b"*a", b"&a ", b"!", b'"']
            )
            content[at : at + random.randint(0, 5)] = junk
        address = f"{addresses['import']}?{urlencode({'path': path, 'dry_run': 'true'})}"
        response = client.generic("POST", address, bytes(content), "application/yaml")
        complaints += faults(response, (path, bytes(content)))


def test_hostile_names_of_uploads(
    client: Any, addresses: dict[str, str], complaints: list[str]
) -> None:
    for name in [text for text in TEXTS if "\ud800" not in text]:
        upload = BytesIO(EVERYTHING[0].content)
        upload.name = f"{name}.agent.yaml"
        response = client.post(addresses["import"], {name: upload}, format="multipart")
        complaints += faults(response, name)


@pytest.mark.slow
def test_addresses_of_nothing(client: Any, complaints: list[str]) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "NONE"):
        for id_ in IDS:
            for path in (f"runs/{id_}/", f"runs/{id_}/executions/", f"executions/{id_}/"):
                response = client.generic(method, f"/api/{path}", b"{}", "application/json")
                complaints += [] if method == "HEAD" else faults(response, (method, path))
        for slug in SLUGS:
            of_suite = (f"suites/{slug}/", f"suites/{slug}/export/")
            for path in (*of_suite, f"agents/{slug}/", f"files/{slug}/"):
                response = client.generic(method, f"/api/{path}", b"{}", "application/json")
                complaints += [] if method == "HEAD" else faults(response, (method, path))


def test_hostile_queries(client: Any, addresses: dict[str, str], complaints: list[str]) -> None:
    random = Random(3)
    for _ in range(400):
        name = random.choice(
            ["runs", "executions", "suites", "run", "execution", "suite", "export"]
        )
        query = {
            random.choice(PARAMETERS).encode("utf-8", "surrogatepass"): random.choice(
                PARAMETER_VALUES
            ).encode("utf-8", "surrogatepass")
            for _ in range(random.randint(1, 2))
        }
        response = client.get(f"{addresses[name]}?{urlencode(query)}")
        complaints += faults(response, (name, query))


def test_hostile_headers(client: Any, addresses: dict[str, str], complaints: list[str]) -> None:
    authorization = client._credentials["HTTP_AUTHORIZATION"]  # noqa: SLF001 - it has no getter
    client.credentials()
    names = ("Accept", "Authorization", "Idempotency-Key", "Cookie")
    texts = ("", "\xff\xfe", "a/b", "*/*;q=x", "Bearer", "Bearer a b", "Bearer \xff", "x" * 9000)
    for name, text in product(names, texts):
        headers = {"Authorization": authorization} | {name: text}
        for method, body in [("GET", b""), ("POST", json.dumps(START).encode())]:
            response = client.generic(
                method, addresses["runs"], body, "application/json", headers=headers
            )
            complaints += faults(response, (method, name, text))
