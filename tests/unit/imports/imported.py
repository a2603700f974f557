"""Files of other programs, imported and played."""

import json
from pathlib import Path
from typing import Any

from mcp_progress_monitor.imports.convert import as_recording
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.snapshots.servers import ServerSnapshot
from mcp_progress_monitor.tracker.snapshot import JobSnapshot

SAMPLES = Path(__file__).parents[2] / "recordings" / "imports"
"""Made by hand, in the forms that the programs of these versions write."""
_MARKS = {Channel.SENT: ">", Channel.RECEIVED: "<", Channel.STDERR: "!", Channel.EVENT: "*"}


class Imported:
    """What a file became."""

    def __init__(self, path: Path) -> None:
        with as_recording(path) as recording:
            chunks = [chunk for chunk in RecordingReader(recording) if chunk.frames]
            self.frames: list[Frame] = [frame for chunk in chunks for frame in chunk.frames]
            playback = Playback(recording, imported_from=path)
            while playback.advance(1.0):
                pass
            self.errors = playback.errors
            found = (playback.jobs.snapshot(job) for job in playback.jobs.ids())
            self.jobs: list[JobSnapshot] = [job for job in found if job is not None]
            self.servers: list[ServerSnapshot] = playback.servers.snapshots()

    @property
    def missing(self) -> str:
        """What is said to be missing."""
        (found,) = [each for each in self.errors if each.what.startswith("Imported from")]
        return found.detail

    def lines(self, marks: str = "><!") -> list[tuple[str, str, bytes]]:
        """Connection, direction and bytes of what was said."""
        return [
            (frame.connection, _MARKS[frame.channel], frame.raw)
            for frame in self.frames
            if _MARKS[frame.channel] in marks
        ]

    def events(self, name: str) -> list[dict[str, Any]]:
        read = [json.loads(raw) for _, _, raw in self.lines("*")]
        return [event for event in read if event["event"] == name]
