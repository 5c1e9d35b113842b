import pytest

from evals_app.admin.agents.curl import CurlRequest, read_pasted

URL = "https://agent.example/chat"


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        pytest.param(f" {URL}\n", CurlRequest(URL, "POST"), id="address alone"),
        pytest.param(
            f"curl -X POST {URL} -H 'X-Tenant: acme' -d '{{\"input\": \"a b\"}}'",
            CurlRequest(URL, "POST", {"X-Tenant": "acme"}, {"input": "a b"}),
            id="usual",
        ),
        pytest.param(
            f"curl -s --compressed --max-time 5 \\\n  --url={URL} \\\r\n --json '[1]'",
            CurlRequest(URL, "", {}, [1]),
            id="several lines",
        ),
        (f'curl -XPOST "{URL}" -H"X-A:b"', CurlRequest(URL, "POST", {"X-A": "b"})),
        pytest.param("curl agent.example", CurlRequest("http://agent.example"), id="no scheme"),
        pytest.param(
            f"curl {URL} -u me:secret -b a=b",
            CurlRequest(URL, "", {"Authorization": "Basic bWU6c2VjcmV0", "Cookie": "a=b"}),
            id="password",
        ),
        pytest.param(
            rf"""$ curl {URL} -H $'X-A: b' --data-raw $'{{"q": "it\'s \u00fc \ud83d\ude00\\n"}}'""",
            CurlRequest(URL, "", {"X-A": "b"}, {"q": "it's ü 😀\n"}),
            id="copied from a browser",
        ),
        pytest.param(
            f"curl '{URL}?v=1' -X PUT -d '{{\"q\": 1}}'",
            CurlRequest(f"{URL}?v=1", "PUT", {}, {"q": 1}),
            id="another method",
        ),
        pytest.param(
            f"curl '{URL}?q=Hello+you&n=1'",
            CurlRequest(URL, "GET", {}, {"q": "Hello you", "n": "1"}, "query"),
            id="address with a query",
        ),
        pytest.param(
            f"curl -X DELETE '{URL}?q=Hi'",
            CurlRequest(URL, "DELETE", {}, {"q": "Hi"}, "query"),
            id="another method without a body",
        ),
        pytest.param(
            f"curl -G '{URL}?n=1' --data-urlencode 'q=a & b' -d x=y",
            CurlRequest(URL, "GET", {}, {"n": "1", "q": "a & b", "x": "y"}, "query"),
            id="query from data",
        ),
        pytest.param(
            f"curl {URL} -d 'a=b&a=c' -d q=Hi",
            CurlRequest(URL, "", {}, {"a": ["b", "c"], "q": "Hi"}, "form"),
            id="form",
        ),
        pytest.param(
            f"curl {URL} -F q=Hi --form doc=@a.pdf",
            CurlRequest(URL, "", {}, {"q": "Hi"}, "multipart", ("doc",)),
            id="form with a file",
        ),
    ],
)
def test_a_command_is_read(text: str, pasted: CurlRequest) -> None:
    assert read_pasted(text) == pasted


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("call my agent", "curl", id="prose"),
        pytest.param(f"curl {URL} -d '{{", "quotation", id="cut off"),
        pytest.param("curl -s", "address", id="no address"),
        pytest.param(f"curl -X HEAD {URL}", "HEAD", id="method"),
        pytest.param(f"curl -T a.pdf {URL}", "upload", id="upload"),
        pytest.param(f"curl {URL} -d '{{a: b}}'", "JSON", id="no JSON"),
        pytest.param(f"curl {URL} -d hello", "form", id="neither"),
        pytest.param(f"curl {URL} -d @body.json", "body.json", id="file"),
    ],
)
def test_another_command_is_refused_with_the_reason(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        read_pasted(text)
