"""The load of REST clients, at its smallest size, and that it sees what is lost."""

from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest

from benchmarks.load import FILES, VARIABLES, Client, load, report
from benchmarks.runs import SERVER
from benchmarks.sites import Site, filled_site


def test_what_clients_start_ends_and_is_there_once(capsys: pytest.CaptureFixture[str]) -> None:
    with filled_site("sqlite", files=FILES, variables=VARIABLES, server=SERVER) as site:
        working = load(site, clients=2, seconds=0.5)
        problems = report(site, working)

        assert problems == []
        assert all(client.runs and client.polls for client in working)
        assert "p95" in capsys.readouterr().out
        working[0].runs.append(working[0].runs[0])  # as if another run had been answered
        assert {problem.partition(":")[0] for problem in report(site, working)} >= {"executions"}


def test_a_refused_request_is_an_error() -> None:
    client = Client(port=9, token="ew_wrong")  # no one listens there
    empty = cast("Site", SimpleNamespace(query=Mock(return_value=[(0,)])))

    client.work(until=float("inf"))

    assert len(client.errors) == 1
    assert report(empty, [client]) == client.errors
