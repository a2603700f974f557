"""All live recordings of a machine as one stream, which is read like a recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.folder import RecordingsFolder, part_path
from mcp_progress_monitor.recording.format import header, prefix
from mcp_progress_monitor.recording.stream import RecordingStream, StreamMarks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WHEN = 1_790_000_000.0


class Recording:
    """A recording that a tap is writing."""

    def __init__(self, folder: Path, pid: int, client: str | None = None, part: int = 1) -> None:
        self.folder = RecordingsFolder(folder)
        self.path = folder / f"2026-11-28T05-00-00-p{pid}-db.mcprec"
        self.folder.begin(self.path)
        self._run = f"{pid:032x}"
        self._tap = {"client": client, "pid": pid}
        self.begin_part(part)

    def begin_part(self, number: int) -> None:
        self._part = part_path(self.path, number)
        fields = {"at": 100.0, "part": number, "run": self._run, "tap": self._tap}
        self._part.write_bytes(header({**fields, "first": 1} if number == 1 else fields))

    def add(self, at: float, raw: str, channel: Channel = Channel.RECEIVED) -> None:
        line = prefix("db#1", channel, _WHEN + at, at) + raw.encode() + b"\n"
        with self._part.open("ab") as file:
            file.write(line)

    def call(self, at: float = 0.0) -> None:
        """A call with the token and id 1."""
        self.add(at, '{"event":"opened","command":"db"}', Channel.EVENT)
        params = {"name": "copy", "arguments": {}, "_meta": {"progressToken": 1}}
        self.add(at, _json("tools/call", params, id=1), Channel.SENT)

    def tick(self, at: float, progress: float) -> None:
        params = {"progressToken": 1, "progress": progress, "total": 100}
        self.add(at, _json("notifications/progress", params))

    def reply(self, at: float) -> None:
        self.add(at, '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')

    def end(self) -> None:
        self.folder.end()


def _json(method: str, params: Mapping[str, object], **more: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})


class Streamed:
    """A stream of a folder, and the file that it is written to."""

    def __init__(self, folder: Path, target: Path, marks: StreamMarks | None = None) -> None:
        self.data = bytearray()
        self._target = target
        self._stream = RecordingStream((folder,), self.data.extend, marks)
        self._stream.begin()

    def turn(self) -> None:
        self._stream._scanned_at = 0.0  # noqa: SLF001  # look at the folder now
        for source in self._stream._sources.values():  # noqa: SLF001
            source._checked_at = 0.0  # noqa: SLF001
        self._stream.turn()

    def playback(self) -> Playback:
        self._target.write_bytes(self.data)
        playback = Playback(self._target)
        while playback.advance(1.0):
            pass
        return playback


def _jobs(playback: Playback) -> dict[str, tuple[str | None, float | None, str]]:
    found = (playback.jobs.snapshot(job) for job in playback.jobs.ids())
    return {job.server: (job.watched_client, job.progress, job.state.value) for job in found if job}


def test_a_stream_is_a_recording_with_the_jobs_of_all_taps(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11, "Cursor"), Recording(live, 22, "Codex")
    one.call(1.0)
    two.call(1.5)
    one.tick(2.0, 40)
    two.tick(2.5, 70)
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    jobs = _jobs(streamed.playback())
    assert jobs["db@11"][:2] == ("Cursor", 40)
    assert jobs["db@22"][:2] == ("Codex", 70)
    assert not streamed.playback().errors[1:]  # only that jobs are still running


def test_what_is_added_later_follows_and_new_recordings_join(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    two = Recording(live, 22)
    two.call()
    one.tick(1.0, 10)
    streamed.turn()
    two.tick(2.0, 20)
    one.reply(2.0)
    streamed.turn()
    jobs = _jobs(streamed.playback())
    assert jobs["db@11"][1:] == (10, "Done")
    assert jobs["db@22"][1] == 20


def test_the_backlog_is_merged_by_time(tmp_path: Path) -> None:
    live = tmp_path / "live"
    recordings = [Recording(live, pid) for pid in (11, 22)]
    for second in range(20):
        recordings[second % 2].add(float(second), f'{{"n":{second}}}')
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    numbers = [
        json.loads(line.split(b" ", 4)[4])["n"]
        for line in streamed.data.splitlines()
        if b'"n"' in line
    ]
    assert numbers == list(range(20))


def test_events_name_requests_by_the_numbers_in_the_stream(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11), Recording(live, 22)
    for at in range(5):
        one.add(float(at), "{}")
    two.add(10.0, '{"jsonrpc":"2.0","id":7,"method":"ping"}', Channel.SENT)
    two.add(10.1, '{"event":"http","request":1}', Channel.EVENT)
    playback = Streamed(live, tmp_path / "stream.mcprec").playback()
    number = playback.timeline.number_here("db@22#1", 1)
    assert number == 6
    assert playback.timeline.number_here("db@11#1", 1) == 1


def test_what_the_reader_has_is_left_out(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    first = Streamed(live, tmp_path / "stream.mcprec")
    have = one.path.stat().st_size
    one.tick(5.0, 50)
    marks = StreamMarks.read([f"#from {11:032x} 1 {have}\n".encode(), b"\n"])
    second = Streamed(live, tmp_path / "second.mcprec", marks)
    assert b"tools/call" in first.data
    assert b"tools/call" not in second.data
    assert f"#from {11:032x} 1 {have}\n".encode() in second.data
    assert b'"progress": 50' in second.data


def test_a_recording_that_ended_while_the_reader_was_away_is_sent_to_its_end(
    tmp_path: Path,
) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    have = one.path.stat().st_size
    one.reply(5.0)
    one.end()
    lines = f"#from {11:032x} 1 {have}\n#now 2020-01-01T00:00:00.000000Z 5.000000\n\n".encode()
    streamed = Streamed(live, tmp_path / "stream.mcprec", StreamMarks.read(lines.splitlines(True)))
    streamed.turn()
    assert b'"result"' in streamed.data
    assert f"#over {11:032x} ".encode() in streamed.data


def test_further_parts_follow(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    one.begin_part(2)
    one.tick(3.0, 30)
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    streamed.turn()
    assert _jobs(streamed.playback())["db@11"][1] == 30


def test_a_line_that_looks_like_one_of_the_stream_is_not_obeyed(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    with one.path.open("ab") as file:
        file.write(b"#from " + b"0" * 32 + b" 1 0\n#over " + b"0" * 32 + b"\n")
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    assert b"#from " + b"0" * 32 + b" 1" not in streamed.data
    assert b"#over " + b"0" * 32 + b"\n" not in streamed.data


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11), Recording(live, 22)
    with one.path.open("ab") as file:
        file.write(prefix("db#1", Channel.RECEIVED, _WHEN, 1.0) + b'{"jsonrpc"')
    two.call(1.0)
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    with one.path.open("ab") as file:
        file.write(b':"2.0","method":"x"}\n')
    streamed.turn()
    assert b'{"jsonrpc":"2.0","method":"x"}\n' in streamed.data


def test_a_recording_that_its_reader_has_in_part_is_sent_however_long_ago_it_ended(
    tmp_path: Path,
) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11), Recording(live, 22)
    one.call()
    two.call()
    have = one.path.stat().st_size
    one.reply(5.0)
    one.end()
    two.end()
    lines = f"#from {11:032x} 1 {have}\n#now 2050-01-01T00:00:00.000000Z 5.000000\n\n".encode()
    marks = StreamMarks.read(lines.splitlines(keepends=True))
    streamed = Streamed(live, tmp_path / "stream.mcprec", marks)
    assert b'"result"' in streamed.data
    assert f"#from {22:032x}".encode() not in streamed.data


def test_the_jobs_of_a_tap_that_was_killed_end(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11), Recording(live, 22)
    one.call()
    two.call()
    streamed = Streamed(live, tmp_path / "stream.mcprec")
    one.end()
    streamed.turn()
    jobs = _jobs(streamed.playback())
    assert (jobs["db@11"][2], jobs["db@22"][2]) == ("Lost", "Running")


def test_a_stream_that_has_only_begun_starts_at_its_own_time(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    streamed = Streamed(tmp_path / "live", tmp_path / "stream.mcprec")
    assert streamed.playback().now() > 0
