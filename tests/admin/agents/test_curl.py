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
        pytest.param(f"curl -X PUT {URL}", "PUT", id="method"),
        pytest.param(f"curl -G {URL}", "GET", id="query"),
        pytest.param(f"curl {URL} -F a=b", "form", id="form"),
        pytest.param(f"curl {URL} -d a=b", "JSON", id="no JSON"),
        pytest.param(f"curl {URL} -d @body.json", "body.json", id="file"),
    ],
)
def test_another_command_is_refused_with_the_reason(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        read_pasted(text)
