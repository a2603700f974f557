"""Telemetry of the window: on and off by its setting, its state, and the way to a trace."""

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.gui.jobs.commands import COPY_TRACE, OPEN_TRACE
from mcp_progress_monitor.gui.jobs.header import request_line
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.user_settings import TelemetrySettings
from tests.gui.programs import until
from tests.gui.saved import reported, running
from tests.otel_collector import collecting, respond
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


def status_of(program: Program) -> StatusBar:
    bar = program.window.statusBar()
    assert isinstance(bar, StatusBar)
    return bar


async def test_calls_are_sent_while_the_setting_is_on_and_a_trace_is_opened(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: opened.append(QUrl(url).toString())
    )
    with collecting() as collector:
        async with running(data_dir) as program:
            window, status = program.window, status_of(program)
            on = TelemetrySettings(is_on=True, endpoint=f"{collector.url}/", has_job_gauges=True)
            window.settings.replace(on)
            await until(lambda: "sending telemetry" in status.text)
            program.engine.servers.add(server_definition())
            await program.engine.servers.connect("demo")
            params = {"name": "result_parts", "arguments": {"rows": 1}}
            await program.engine.calls.make(Call("demo", "tools/call", params))
            await until(lambda: bool(collector.spans))
            span = collector.spans[0]

            await until(lambda: window.job_list.select(1))
            job = program.engine.jobs.snapshot(1)
            assert job is not None
            assert job.traceparent == f"00-{span.trace}-{span.span}-01"
            assert f"trace {span.trace[:8]}…" in request_line(job)
            window.commands.run(COPY_TRACE, 1)
            assert QGuiApplication.clipboard().text() == job.traceparent
            window.commands.run(OPEN_TRACE, 1)
            assert "address of traces is not known" in reported(program)
            address = "http://localhost:3000/trace/{trace_id}?span={span_id}"
            window.settings.set(TelemetrySettings.trace_url, address)
            window.commands.run(OPEN_TRACE, 1)
            assert opened == [f"http://localhost:3000/trace/{span.trace}?span={span.span}"]

            window.settings.set(TelemetrySettings.is_on, value=False)
            await until(lambda: "telemetry" not in status.text)
            await program.engine.calls.make(Call("demo", "tools/call", params))
            later = program.engine.jobs.snapshot(2)
            assert later is not None
            assert later.traceparent is None
    assert [event.name for event in collector.events] == [names.STARTED, names.FINISHED]


async def test_what_the_collector_refuses_is_counted_and_reported_once(data_dir: Path) -> None:
    with collecting(lambda request: respond(request, 400)) as collector:
        async with running(data_dir) as program:
            window, status = program.window, status_of(program)
            window.settings.replace(TelemetrySettings(is_on=True, endpoint=collector.url))
            await until(lambda: "sending telemetry" in status.text)
            program.engine.servers.add(server_definition())
            await program.engine.servers.connect("demo")
            call = Call("demo", "tools/call", {"name": "result_parts", "arguments": {"rows": 1}})
            await program.engine.calls.make(call)
            await until(lambda: "could not be sent" in status.text)
            assert "HTTP 400" in reported(program)
