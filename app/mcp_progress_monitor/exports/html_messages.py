"""The messages of a job's exchange, and what marks those that break a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, joined, render
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind

if TYPE_CHECKING:
    from mcp_progress_monitor.exports.evidence import Evidence
    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.exports.mark_words import MarkWords
    from mcp_progress_monitor.recording.timeline import Timeline

READ: Final = 64 * 1024
"""Bytes of a message that are read for a report."""
_SHOWN: Final = 2_000
_ARROWS: Final = {
    Channel.SENT: "→ sent",
    Channel.RECEIVED: "← received",
    Channel.STDERR: "stderr",
    Channel.EVENT: "event",
}


class MessageMarks:
    """Says of a message what is wrong with it, where it is said at all."""

    def __init__(self, timeline: Timeline, words: Words, marks: MarkWords) -> None:
        self._timeline = timeline
        self._words = words
        self._marks = marks

    def of(self, place: int) -> Html:
        """The mark of the message at a place; empty when it breaks no rule."""
        if not self._timeline.is_marked(place):
            return Html("")
        said = self._words.line(self._marks.of(self._timeline.number(place)))
        return render("mark", said)


def messages(
    timeline: Timeline, evidence: Evidence, words: Words, marks: MessageMarks, ends: int
) -> Html:
    """The messages but for the ticks: the first and the last `ends` of them, in full or nearly."""
    places = evidence.messages
    left_out = len(places) - 2 * ends
    shown = list(places) if left_out <= 0 else [*places[:ends], *places[-ends:]]
    made = [_message(timeline, place, words, marks) for place in shown]
    if left_out > 0:
        note = f"… {text.count(left_out, 'more message')} left out"
        made.insert(ends, render("note", note))
    if evidence.ticks:
        ticks = text.count(len(evidence.ticks), "progress notification")
        made.append(render("note", f"Beside them: {ticks}."))
    return joined(made)


def _message(timeline: Timeline, place: int, words: Words, marks: MessageMarks) -> Html:
    frame = timeline.frame(place, READ)
    if frame is None:
        return Html("")
    kind = timeline.kind(place)
    head = " · ".join(
        (
            text.clock(frame.when),
            _ARROWS[frame.channel],
            (FrameKind.UNREADABLE if kind is None else kind).word,
            f"no. {frame.number}",
            text.size(timeline.size(place)),
        )
    )
    raw = words.redaction.raw(frame.raw).decode(errors="backslashreplace")
    rest = f"the first of {text.size(timeline.size(place))}" if len(raw) > _SHOWN else ""
    return render("message", head, marks.of(place), render("block", raw[:_SHOWN], rest))
