"""Telemetry of calls, watched clients and recordings, received by a collector of our own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.protocol.frames import Channel
from tests.integration.commands import ROOT, run, start
from tests.otel_collector import Collector, collecting, respond
from tests.patience import PATIENCE_S
from tests.taps import TOKEN, HandTap
from tests.unit.recording.written import Written

_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_OFF = """
import sys
from mcp_progress_monitor.cli.entry import main
code = main(["call", "--demo", "known_total", "--arg", "steps=1", "--arg", "interval_s=0"])
loaded = [name for name in sys.modules if name.startswith(("opentelemetry", "google.protobuf"))]
loaded += [name for name in sys.modules if name.startswith("mcp_progress_monitor.telemetry")]
sys.exit(code or repr(loaded) if loaded else code)
"""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
        yield made


def test_a_call_is_seen_while_it_runs_and_its_span_afterwards(
    collector: Collector, tmp_path: Path
) -> None:
    recording = tmp_path / "a.mcprec"
    arguments = ("--arg", "steps=4", "--arg", "interval_s=0.4", "--data-dir", str(tmp_path))
    where = ("--record", str(recording), "--otel")
    done = run("call", "--demo", "known_total", *arguments, *where)
    assert (done.code, "telemetry" in done.err) == (0, False)

    (started,) = collector.of(names.STARTED)
    (finished,) = collector.of(names.FINISHED)
    assert collector.of(names.PROGRESSED)
    assert finished.arrived_at - started.arrived_at > 0.5
    span = next(span for span in collector.spans if span.name == "tools/call known_total")
    assert {event.trace for event in collector.events} == {span.trace}
    assert {event.span for event in collector.events} == {span.span}
    assert (span.kind, span.parent) == (3, "")
    assert span.attributes[names.TOOL_NAME] == "known_total"
    assert any(span.name == "mcp session demo" for span in collector.spans)
    assert names.DURATION in collector.metrics
    assert names.WATCHED_DURATION not in collector.metrics
    sent = f"00-{span.trace}-{span.span}-01"
    assert f'"traceparent":"{sent}"'.encode() in recording.read_bytes()


def test_a_watched_call_is_a_child_of_its_clients_span(
    collector: Collector, tmp_path: Path
) -> None:
    tap = HandTap(tmp_path / "recordings" / "live", pid=os.getpid())
    meta = {"progressToken": TOKEN, "traceparent": f"00-{_TRACE}-{_SPAN}-01"}
    params = {"name": "export", "arguments": {}, "_meta": meta}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with start("watch", "--otel", "--data-dir", str(tmp_path)) as watch:
        tap.write(tap.opened(), tap.handshake(), tap.sent(asked), tap.tick(4))
        collector.wait_for(lambda: collector.of(names.STARTED))
        tap.write(tap.answer(isError=True), tap.closed())
        collector.wait_for(lambda: collector.of(names.FINISHED))
        collector.wait_for(lambda: len(collector.spans) == 2)
        watch.terminate()
        watch.communicate(timeout=PATIENCE_S)
    tap.end()
    assert watch.returncode == 0
    found = [each for each in collector.events if each.attributes.get(names.TOOL_NAME)]
    assert {event.trace for event in found} == {_TRACE}
    assert {event.attributes[names.ROLE] for event in found} == {names.WATCHED}
    assert {event.attributes[names.CLIENT] for event in found} == {"Claude Code"}
    span = next(span for span in collector.spans if span.name == "watch tools/call export")
    assert (span.trace, span.parent, span.kind) == (_TRACE, _SPAN, 1)
    assert (span.error, span.attributes[names.ERROR_TYPE]) == ("done", names.TOOL_ERROR)


def test_a_recording_is_sent_with_the_same_ids_each_time_and_no_secret(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.CAPTURE, "true")
    secrets = [f"Zq7Xv{place:02}Hunter2Wm4Kp9" for place in range(40)]
    written = Written()
    places = iter(secrets)
    for number in range(1, 11):
        args = {"password": next(places), "text": f"token={next(places)}"}
        params = {"name": "export", "arguments": args, "_meta": {"progressToken": number}}
        written.send("tools/call", params, number, 4 * number + 0.2)
        note = {"progressToken": number, "progress": 1, "message": f"api_key={next(places)}"}
        raw = {"jsonrpc": "2.0", "method": "notifications/progress", "params": note}
        written.line(Channel.RECEIVED, json.dumps(raw).encode(), 4 * number + 2.5)
        content = [{"type": "text", "text": f"Authorization: Bearer {next(places)}"}]
        written.reply(number, 4 * number + 3.5, {"isError": True, "content": content})
    path = written.save(tmp_path / "a.mcprec")
    first = run("export", str(path), "--format", "otlp")
    assert (first.code, "Sent 40 events and spans" in first.err) == (0, True), first.err
    spans = [(span.trace, span.span) for span in collector.spans]
    assert len(set(spans)) == 10
    assert names.ARGUMENTS in collector.spans[0].attributes
    run("export", str(path), "--format", "otlp")
    assert sorted(spans * 2) == sorted((span.trace, span.span) for span in collector.spans)
    assert {event.attributes[names.ROLE] for event in collector.events} == {names.RECORDED}
    payload = b"".join(collector.payloads)
    assert [secret for secret in secrets if secret.encode() in payload] == []


def test_a_collector_that_refuses_fails_an_export_and_no_call(
    collector: Collector, tmp_path: Path
) -> None:
    collector.answer = lambda request: respond(request, 400)
    arguments = ("--arg", "steps=1", "--arg", "interval_s=0", "--data-dir", str(tmp_path))
    done = run("call", "--demo", "known_total", *arguments, "--otel")
    assert done.code == 0
    assert done.err.count("could not be sent") == 1
    assert "HTTP 400" in done.err
    (recording,) = (tmp_path / "recordings").glob("*.mcprec")
    assert run("export", str(recording), "--format", "otlp").code == 8


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "'grpc' is not supported"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "not an http or https URL"),
        ({"OTEL_SDK_DISABLED": "true"}, "turned off by the environment"),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "x"}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
    ],
)
def test_telemetry_that_cannot_be_sent_is_refused_at_once(
    environment: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = run("call", "--demo", "known_total", "--otel")
    assert (done.code, why in done.err) == (2, True)


def test_nothing_is_imported_without_the_option() -> None:
    done = subprocess.run([sys.executable, "-c", _OFF], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr[-200:].count(b"telemetry")) == (0, 0)
