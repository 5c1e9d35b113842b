import re

import pytest

from evals_app.engine.network.addresses import RequestTarget, read_url, url_problem, why_refused


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        pytest.param(
            "https://agent.example.org",
            RequestTarget("https", "agent.example.org", 443, "/"),
            "agent.example.org",
            id="no path",
        ),
        pytest.param(
            "HTTP://Agent.Example.org:8080/Chat?a=B",
            RequestTarget("http", "agent.example.org", 8080, "/Chat?a=B"),
            "agent.example.org:8080",
            id="port, path and query",
        ),
        ("http://a.b?x=1", RequestTarget("http", "a.b", 80, "/?x=1"), "a.b"),
        ("http://a.b:80/", RequestTarget("http", "a.b", 80, "/"), "a.b"),
        ("https://a.b:80/", RequestTarget("https", "a.b", 80, "/"), "a.b:80"),
        pytest.param(
            "http://[2001:DB8:0::1]:81/",
            RequestTarget("http", "2001:db8::1", 81, "/"),
            "[2001:db8::1]:81",
            id="IPv6",
        ),
        ("http://a.b./x", RequestTarget("http", "a.b", 80, "/x"), "a.b"),
        ("http://a_b/x", RequestTarget("http", "a_b", 80, "/x"), "a_b"),
    ],
)
def test_a_url_is_taken_apart(url: str, target: RequestTarget, authority: str) -> None:
    assert read_url(url) == target
    assert read_url(url).authority == authority


def test_a_name_is_replaced_by_the_address_that_was_checked() -> None:
    target = read_url("https://agent.example.org/chat?a=b")

    assert target.at("203.0.113.7") == "https://203.0.113.7:443/chat?a=b"
    assert target.at("2001:db8::1") == "https://[2001:db8::1]:443/chat?a=b"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://a.b/", "Write the full address"),
        ("agent.example.org", "Write the full address"),
        ("http:///x", "Write the full address"),
        ("http://a b/", "Write the full address"),
        ("http://exämple.org/", "xn--"),
        ("http://a.b/ä", "%20"),
        ("http://a.b\\@c.d/", "user name or password"),
        ("http://a.b\\.c.d/", "Write the full address"),
        ("http://a.b/\\x", "Write the full address"),
        ("http://a.b/x\r\nHost: c", "Write the full address"),
        ("http://me:secret@a.b/", "user name or password"),
        ("http://token@a.b/", "user name or password"),
        ("http://a.b/#part", "after #"),
        ("http://a.b:0/", "1 to 65535"),
        ("http://a.b:65536/", "1 to 65535"),
        ("http://[::zz]/", "Write the full address"),
        ("http://[1::2::3]/", "IPv6 address"),
        ("http://127.1/", "four decimal numbers"),
        ("http://2130706433/", "four decimal numbers"),
        ("http://0x7f000001/", "four decimal numbers"),
        ("http://0x7f.0.0.1/", "four decimal numbers"),
        ("http://0177.0.0.1/", "four decimal numbers"),
        ("http://1.2.3.4.5/", "four decimal numbers"),
        ("http://256.1.1.1/", "four decimal numbers"),
    ],
)
def test_what_cannot_be_called_is_explained(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read_url(url)


@pytest.mark.parametrize(
    "query", ["monkey=1", "tokens=5", "keyboard=a", "page=2&design=x", "author=me"]
)
def test_a_harmless_query_is_left_alone(query: str) -> None:
    assert url_problem(f"http://a.b/?{query}", permitted=()) is None


@pytest.mark.parametrize("query", ["api_key=x", "y=1&access_token=x"])
def test_a_key_in_a_written_address_is_refused_and_in_an_asked_one_is_an_argument(
    query: str,
) -> None:
    url = f"http://a.b/?{query}"

    assert "in a header" in (url_problem(url, permitted=()) or "")
    assert read_url(url).path == f"/?{query}"


REFUSED = {
    "this machine": (
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "::1", "::"),  # noqa: S104 - nobody listens
        *("::ffff:127.0.0.1", "2002:7f00:1::", "2001:0:7f00:1::"),
    ),
    "private network": (
        *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "198.18.0.1", "240.0.0.1"),
        *("255.255.255.255", "fd12:3456::1", "::ffff:10.1.2.3", "64:ff9b::a00:1"),
    ),
    "not on the public internet": ("100.64.0.1", "fec0::1", "3fff::1", "5f00::1", "4000::1"),
    "local network": ("169.254.0.1", "fe80::1", "fe80::1%eth0"),
    "multicast": ("224.0.0.1", "ff02::1"),
    "credentials of this machine": (
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"),
        *("fd00:ec2::254", "::ffff:169.254.169.254"),
    ),
    # What these are called depends on the release of Python.
    "can be called only if": ("192.0.0.192", "2002:808:808::"),
}


@pytest.mark.parametrize(
    ("address", "words"),
    [(address, words) for words, addresses in REFUSED.items() for address in addresses],
)
def test_an_address_that_is_not_of_the_open_internet_is_refused(address: str, words: str) -> None:
    target = read_url("http://agent.example.org/")

    problem = why_refused(address, target, permitted=())

    assert problem is not None
    assert problem.startswith(f"agent.example.org leads to {address}, which ")
    assert words in problem
    assert "EVALS_PRIVATE_HOSTS" in problem


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "8.8.8.8",
        "2606:2800:21f:cb07::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "172.32.0.1",
    ],
)
def test_an_address_of_the_open_internet_is_called(address: str) -> None:
    assert why_refused(address, read_url("http://a.example/"), permitted=()) is None


@pytest.mark.parametrize(
    ("url", "permitted", "is_called"),
    [
        pytest.param("http://agent:8000/", ["agent"], True, id="host"),
        pytest.param("http://agent:8000/", ["agent:8000"], True, id="host and port"),
        pytest.param("http://Agent:8000/", ["AGENT:8000"], True, id="upper and lower case"),
        pytest.param("http://agent:8000/", ["agent:8001"], False, id="another port"),
        pytest.param("http://agent:8000/", ["agen", "gent"], False, id="a part of the name"),
        pytest.param("http://agent/", ["agent:80"], True, id="the usual port"),
        pytest.param("https://agent/", ["agent:80"], False, id="the usual port of another scheme"),
        pytest.param("http://agent.evil.example/", ["agent"], False, id="a longer name"),
        pytest.param("http://10.0.0.9/", ["10.0.0.9"], True, id="address"),
        pytest.param("http://[fd12::1]/", ["[fd12::1]"], True, id="IPv6 in brackets"),
        pytest.param("http://[fd12::1]:81/", ["fd12::1"], True, id="IPv6"),
    ],
)
def test_the_operator_permits_hosts_of_private_networks(
    url: str, permitted: list[str], *, is_called: bool
) -> None:
    target = read_url(url)
    address = target.host if target.host[0].isdecimal() or ":" in target.host else "10.0.0.9"

    problem = why_refused(address, target, permitted=permitted)

    assert (problem is None) == is_called


def test_no_permitted_name_leads_to_the_credentials_of_the_machine() -> None:
    name, itself = read_url("http://agent/"), read_url("http://169.254.169.254/")
    permitted = ["agent", "169.254.169.254"]

    problem = why_refused("169.254.169.254", name, permitted=permitted)

    assert problem is not None
    assert "lists 169.254.169.254 in EVALS_PRIVATE_HOSTS" in problem
    assert why_refused("169.254.169.254", itself, permitted=permitted) is None


@pytest.mark.parametrize(
    ("url", "permitted", "words"),
    [
        pytest.param("https://agent.example.org/", [], None, id="a name"),
        pytest.param("https://203.0.114.7/", [], None, id="an open address"),
        pytest.param("http://10.0.0.9/", [], "10.0.0.9 is in a private network", id="private"),
        pytest.param("http://10.0.0.9/", ["10.0.0.9"], None, id="permitted"),
        pytest.param("http://localhost/", [], "this machine", id="localhost"),
        pytest.param("http://a.localhost/", [], "this machine", id="below localhost"),
        pytest.param("http://localhost./", [], "this machine", id="localhost and a point"),
        pytest.param("http://localhost/", ["localhost"], None, id="localhost, permitted"),
        pytest.param("http://[::ffff:7f00:1]/", [], "this machine", id="IPv4 in IPv6"),
        pytest.param("nothing", [], "Write the full address", id="no URL"),
    ],
)
def test_what_is_known_without_looking_a_name_up_is_shown_when_it_is_written(
    url: str, permitted: list[str], words: str | None
) -> None:
    problem = url_problem(url, permitted=permitted)

    assert (problem is None) if words is None else (problem is not None and words in problem)
