"""Reads back what a command tells scripts of a traffic."""

import io
from typing import Any

from mcp_progress_monitor.cli.output.events import JsonEvents
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.findings.advice import ADVICE
from tests.event_lines import read_events
from tests.unit.cli.traffic import Traffic


class Witness:
    """Events of a traffic that starts at second 100, read back."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._written = io.BytesIO()
        self._said = io.BytesIO()
        output, errors = (
            StandardOutput(io.TextIOWrapper(stream, encoding="utf-8"))
            for stream in (self._written, self._said)
        )
        self._outputs = output, errors
        self.watch(self.traffic)

    @property
    def text(self) -> str:
        """Everything written so far."""
        return self._written.getvalue().decode()

    def watch(self, book: Any) -> None:
        """Look jobs up in `book` from now on."""
        self.events = JsonEvents(*self._outputs, book, 100.0)

    @property
    def said(self) -> str:
        """What was written to standard error."""
        return self._said.getvalue().decode()

    def read(self) -> list[dict[str, Any]]:
        """Everything written so far, as objects, but the findings of the session's judge."""
        return [event for event in self._all() if event.get("rule") not in ADVICE]

    def findings(self) -> list[dict[str, Any]]:
        """The findings of the session's judge, as objects."""
        return [event for event in self._all() if event.get("rule") in ADVICE]

    def _all(self) -> list[dict[str, Any]]:
        return read_events(self.text)

    def last(self) -> dict[str, Any]:
        """The newest event."""
        return self.read()[-1]
