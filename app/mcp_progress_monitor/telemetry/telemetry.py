"""The telemetry of one session: follows it, and hands its signals to the sender."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from mcp_progress_monitor import formatting
from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.telemetry.jobs import JobSignals
from mcp_progress_monitor.telemetry.span_ids import SpanIds
from mcp_progress_monitor.telemetry.traffic import TrafficSignals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.telemetry.options import TelemetryOptions
    from mcp_progress_monitor.telemetry.sender import Sender, SenderState
    from mcp_progress_monitor.telemetry.signals import JobGauges, Signal

EXTRA: Final = "mcp-progress-monitor[otel]"
CLOSE_S: Final = 2.0
"""How long a program that ends waits for the collector."""
_TURN_S: Final = 0.25
_TURN: Final = 500
_PART: Final = 20  # jobs that are read without a pause
_GAUGES: Final = 200  # jobs whose figures are metrics
_GAUGES_S: Final = 5.0


def load() -> None:
    """Import OpenTelemetry, which takes half a second.

    Raises:
        UserError: it is not installed, or does not accept one of its variables.
    """
    try:
        from mcp_progress_monitor.telemetry import sender

        sender.check_variables()
    except ImportError as error:
        what = "Telemetry needs OpenTelemetry, which is not installed"
        hint = f'Install it: pip install "{EXTRA}"'
        raise UserError(ErrorDetails(what, hint=hint, detail=str(error))) from error
    except ValueError as error:
        what = "OpenTelemetry does not accept one of its variables"
        hint = "Correct or remove the OTEL_… variable."
        raise UserError(ErrorDetails(what, hint=hint, detail=str(error))) from error


class Telemetry:
    """Follows one session, and sends its signals until `close`."""

    _session: Engine | Playback
    _jobs: JobSignals
    _traffic: TrafficSignals
    _sender: Sender

    def __init__(self, options: TelemetryOptions) -> None:
        """Raise `UserError` if nothing can be sent with these options and variables."""
        options.check()
        load()
        self._options = options
        self._engine: Engine | None = None
        self._gauges: Sequence[JobGauges] = ()
        self._leave: Callable[[], None] | None = None

    def follow_engine(self, engine: Engine) -> None:
        """Follow live sessions, whose signals are made by `run`; calls send a trace context."""
        self._engine = engine
        self._follow(engine, SpanIds())
        engine.calls.trace(self._jobs.new_traceparent)

    def follow_recording(self, playback: Playback, *, waits: bool = False) -> None:
        """Follow a recording, whose signals are made as it is read, with the same ids each time.

        With `waits`, reading waits for the collector instead of dropping.
        """
        self._follow(playback, SpanIds(json.dumps(playback.header, sort_keys=True)), waits=waits)

    def _follow(self, session: Engine | Playback, ids: SpanIds, *, waits: bool = False) -> None:
        from mcp_progress_monitor.telemetry.sender import Observed, Sender

        self._session = session
        jobs = self._jobs = JobSignals(
            session.jobs,
            ids,
            self._offer,
            self._role_of,
            self._of_connection,
            has_content=self._options.has_content,
        )
        traffic = self._traffic = TrafficSignals(
            ids, jobs.texts, self._offer, self._role_of, jobs.note_late
        )
        observed = Observed(jobs.counted, traffic.counted, traffic.counted_findings, self._read)
        self._sender = Sender(self._options, observed, waits=waits)
        jobs.begin(session.now())
        self._leave = session.subscribe(self._on_update)

    @property
    def address(self) -> str:
        """The base URL of the collector."""
        return self._options.address

    @property
    def state(self) -> SenderState:
        """The counts of signals that were sent and dropped so far."""
        return self._sender.state

    async def run(self) -> None:
        """Read the jobs that changed, in small parts, until stopped."""
        gauges_at = self._session.now()
        while self._leave is not None:
            await anyio.sleep(_TURN_S)
            now = self._session.now()
            for _ in range(_TURN // _PART):
                if not self._jobs.work(now, _PART):
                    break
                await anyio.lowlevel.checkpoint()
            if self._options.has_job_gauges and now >= gauges_at:
                gauges_at = now + _GAUGES_S
                self._gauges = self._jobs.gauges(_GAUGES)

    def stop(self, within_s: float = math.inf) -> None:
        """Follow the session no more; what was made of it, for at most `within_s`, can be sent."""
        if self._leave is None:
            return
        self._leave()
        self._leave = None
        if self._engine is not None:
            self._engine.calls.trace(None)
        ends = time.monotonic() + within_s
        while self._jobs.work(self._session.now(), _PART) and time.monotonic() < ends:
            pass
        self._sender.drop(self._jobs.lost + self._jobs.unread)

    def close(self, within_s: float = CLOSE_S) -> None:
        """Send what is left for at most `within_s`; the rest is dropped and counted."""
        ends = time.monotonic() + within_s
        self.stop(within_s / 2)
        self._sender.close(max(ends - time.monotonic(), 0))

    @property
    def problem(self) -> ErrorDetails | None:
        """Says what could not be sent, and why; None if everything was."""
        state = self.state
        if not state.dropped:
            return None
        what = f"{formatting.count(state.dropped, 'telemetry signal')} could not be sent"
        hint = "Check the collector and the OTEL_EXPORTER_OTLP_… variables."
        return ErrorDetails(what, self.address, hint, state.error)

    def _offer(self, signal: Signal) -> None:
        self._sender.offer(signal)

    def _read(self) -> Sequence[JobGauges]:
        return self._gauges

    def _role_of(self, connection: str) -> str:
        if self._engine is None:
            return names.RECORDED
        is_own = self._engine.watched.client_of(connection) is None
        return names.OWN if is_own else names.WATCHED

    def _of_connection(self, connection: str) -> dict[str, str]:
        return self._traffic.of_connection(connection)

    def _on_update(self, update: Update) -> None:
        self._traffic.note(update.facts, update.changes.marked.values())
        self._jobs.note(update.changes)
        if self._engine is None:  # its time passes with its updates
            self._work()

    def _work(self) -> None:
        while self._jobs.work(self._session.now(), _TURN):
            pass
