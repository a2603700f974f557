"""The ticks of a job as a table: the first, the last, and some between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_messages import READ
from mcp_progress_monitor.exports.html_parts import Html, joined, render, table
from mcp_progress_monitor.exports.ticks import Tick, difference, tick_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.depth import Depth
    from mcp_progress_monitor.exports.html_messages import MessageMarks
    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.recording.timeline import Timeline

_TITLES = ("No.", "After", "Δ time", "Progress", "Δ", "", "Message")


class TicksTable:
    """Makes the table of one job, which began at `begun_at`."""

    def __init__(
        self, timeline: Timeline, words: Words, marks: MessageMarks, begun_at: float
    ) -> None:
        self._timeline = timeline
        self._words = words
        self._marks = marks
        self._begun_at = begun_at

    def made(self, places: Sequence[int], depth: Depth) -> Html:
        """The table of the ticks at `places`, thinned to `depth`; empty when there are none."""
        if not places:
            return Html("")
        rows = list(self._rows(places, depth.thinned(len(places))))
        note = f"{text.number(len(rows))} of {text.count(len(places), 'tick')}"
        if len(rows) < len(places):
            note += ": the first, the last, and some between. Δ counts from the row above"
        made = table(_TITLES, rows, numbers=range(6))
        return joined((render("note", f"{note}."), made))

    def _rows(self, places: Sequence[int], indices: Sequence[int]) -> Iterator[Sequence[str]]:
        before: Tick | None = None
        for index in indices:
            frame = self._timeline.frame(places[index], READ)
            if frame is not None:
                tick = tick_of(frame)
                yield self._row(index + 1, tick, before, self._marks.of(places[index]))
                before = tick

    def _row(self, number: int, tick: Tick, before: Tick | None, mark: Html) -> Sequence[str]:
        gained = None if before is None else difference(tick.progress, before.progress)
        share = tick.share
        return (
            text.number(number),
            text.duration(max(tick.at - self._begun_at, 0.0)),
            "" if before is None else text.since(tick.at - before.at),
            text.amount(tick.progress, tick.total),
            "" if gained is None else text.number(gained),
            "" if share is None else text.percent(share),
            joined((self._words.line(tick.message or ""), mark), " "),
        )
