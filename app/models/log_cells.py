"""The words in the cells of the log, made for painted rows and remembered for the next paint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject

from app.models.log_row import LogKind, describe
from app.protocol.frame import Channel, server_name
from app.text import clock, one_line, since

if TYPE_CHECKING:
    from app.protocol.frame import Frame

_REMEMBERED: Final = 2_000
"""Rows whose words are kept: some screens full."""


class LogCells(QObject):
    """Texts of cells by place and column; column numbers are those of `LogColumn`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[int, tuple[LogKind, tuple[str, ...]]] = {}
        self._directions = {
            Channel.SENT: "→ " + self.tr("sent"),
            Channel.RECEIVED: "← " + self.tr("received"),
            Channel.STDERR: "← " + self.tr("stderr"),
            Channel.EVENT: "· " + self.tr("event"),
        }
        self._kinds = self._kind_names()
        self._headers = self._header_texts()

    def title(self, column: int) -> str:
        """Return a column's title."""
        return self._headers[column][0]

    def explanation(self, column: int) -> str:
        """Return what a column shows."""
        return self._headers[column][1]

    def kind(self, place: int, frame: Frame) -> LogKind:
        """Return what the frame at `place` is."""
        return self._row(place, frame)[0]

    def text(self, place: int, frame: Frame, column: int) -> str:
        """Return the words of a cell, all but the time difference."""
        return self._row(place, frame)[1][column]

    def delta(self, frame: Frame, previous: Frame | None) -> str:
        """Return the seconds since the row before, to the millisecond."""
        return "" if previous is None else since(frame.at - previous.at)

    def _row(self, place: int, frame: Frame) -> tuple[LogKind, tuple[str, ...]]:
        row = self._rows.get(place)
        if row is None:
            row = self._made(frame)
            if len(self._rows) >= _REMEMBERED:
                del self._rows[next(iter(self._rows))]
            self._rows[place] = row
        return row

    def _made(self, frame: Frame) -> tuple[LogKind, tuple[str, ...]]:
        row = describe(frame)
        return row.kind, (
            clock(frame.when),
            "",
            self._directions[frame.channel],
            one_line(server_name(frame.connection), 80),
            self._kinds[row.kind],
            row.method,
            row.key,
            row.summary,
            f"{len(frame.raw):,}",
        )

    def _kind_names(self) -> dict[LogKind, str]:
        return {
            LogKind.REQUEST: self.tr("request"),
            LogKind.REPLY: self.tr("reply"),
            LogKind.ERROR: self.tr("error"),
            LogKind.PROGRESS: self.tr("progress"),
            LogKind.NOTIFICATION: self.tr("notification"),
            LogKind.STDERR: self.tr("stderr"),
            LogKind.EVENT: self.tr("event"),
            LogKind.UNREADABLE: self.tr("unreadable"),
            LogKind.BATCH: self.tr("batch"),
            LogKind.LARGE: self.tr("large"),
        }

    def _header_texts(self) -> tuple[tuple[str, str], ...]:
        return (
            (self.tr("Time"), self.tr("Local time")),
            (self.tr("Δ s"), self.tr("Seconds since the row above")),
            (self.tr("Direction"), self.tr("Sent to the server or received from it")),
            (self.tr("Server"), self.tr("The server's name")),
            (self.tr("Kind"), self.tr("What the message is")),
            (self.tr("Method"), self.tr("The method of a request or notification")),
            (self.tr("Token / id"), self.tr("The progress token, or the request's id")),
            (self.tr("Summary"), self.tr("The message in short")),
            (self.tr("Size"), self.tr("Bytes, without the line end")),
        )
