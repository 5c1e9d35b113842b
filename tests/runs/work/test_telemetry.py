"""Traces on their way to a collector, and what becomes of runs when it is away."""

import asyncio
from typing import Any

import pytest

from evals_app.formats.otlp import read_spans
from evals_app.reports.renderers.otlp import SpanSource
from evals_app.runs.work import telemetry
from evals_app.runs.work.telemetry import Exporter, exporting
from tests.agent_server import Sent, WebServer
from tests.engine.memory_gateway import cases_of, execute_in_memory, make_plan
from tests.runs.suites import finished, make_suite

SOURCE = SpanSource(1, "Suite", "Agent")


@pytest.mark.django_db
def test_a_run_is_exported_to_the_collector_of_the_operator(settings: Any) -> None:
    with WebServer(lambda _: Sent.json({})) as collector:
        settings.OTLP_ENDPOINT = f"http://{collector.host}/otel/"
        settings.OTLP_HEADERS = {"api-key": "k"}
        run = finished(make_suite(["hello", "bye"]))

    assert run.passed == 1
    assert {(asked.path, asked.headers["api-key"]) for asked in collector.asked} == {
        ("/otel/v1/traces", "k")
    }
    spans = [pair for asked in collector.asked for pair in read_spans(asked.raw, is_json=True)]
    assert len({trace for trace, _ in spans}) == 2
    roots = [span.attributes for _, span in spans if not span.parent_id]
    assert {root["evalwell.execution.id"] for root in roots} == set(
        run.executions.values_list("pk", flat=True)
    )


@pytest.mark.django_db
def test_a_collector_that_refuses_does_a_run_no_harm(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with WebServer(lambda _: Sent.text("Full.", status=503)) as collector:
        settings.OTLP_ENDPOINT = f"http://{collector.host}"
        run = finished(make_suite(["hello"]))

    assert run.verdict == "passed"
    assert "503" in caplog.text
    assert "traces: 1" in caplog.text


@pytest.mark.anyio
async def test_without_an_address_nothing_is_exported(settings: Any) -> None:
    settings.OTLP_ENDPOINT = ""
    async with exporting() as exporter:
        assert exporter is None


@pytest.mark.anyio
async def test_more_than_can_wait_is_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(telemetry, "MAX_WAITING", 2)
    monkeypatch.setattr(telemetry, "FLUSH_S", 0)
    outcomes = await execute_in_memory(make_plan(*cases_of("one", "two", "three")))
    nowhere: Any = None
    exporter = Exporter("http://a", headers={}, with_content=False, web=nowhere)

    exporter.add(outcomes, SOURCE)
    await exporter.flush()

    assert exporter.dropped == 3  # one had no room, and no one sends the others
    assert "traces: 3" in caplog.text


@pytest.mark.anyio
async def test_what_cannot_be_sent_is_dropped_and_the_next_is_sent() -> None:
    outcomes = await execute_in_memory(make_plan(*cases_of("one", "two")))
    sent: list[Any] = []

    class Broken:
        async def ask(self, *_: Any, body: Any, **__: Any) -> Any:
            sent.append(body)
            raise RuntimeError("It broke.")

    broken: Any = Broken()
    exporter = Exporter("http://a", headers={}, with_content=False, web=broken)
    working = asyncio.create_task(exporter.work())

    for outcome in outcomes:
        exporter.add([outcome], SOURCE)
        await exporter.flush()

    working.cancel()
    assert len(sent) == 2
    assert exporter.dropped == 2
