"""The recordings that benchmarks open: as long as wanted, and without a flaw."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestMade, UnreadableReceived
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.recording.format import HEADER
from tests.benchmarks.recordings import NEEDLE, ROUNDS, write_recording
from tests.recorded_prefix import read_prefix

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import Fact

COUNT = 15_000


def frames(path: Path) -> list[Frame]:
    """All frames of a recording whose lines are all sound."""
    header, *lines = path.read_bytes().splitlines()
    assert header.startswith(HEADER)
    found = []
    for number, line in enumerate(lines, 1):
        start = read_prefix(line)
        assert start is not None
        assert start.is_complete
        raw = line[start.length :]
        connection, channel, when, at = start[:4]
        found.append(Frame(number, connection, channel, when, at, raw))
    return found


def facts(path: Path) -> list[Fact]:
    """What the frames of a recording mean."""
    readers: dict[str, Conversation] = {}
    found: list[Fact] = []
    for frame in frames(path):
        reader = readers.setdefault(frame.connection, Conversation(frame.connection))
        found += reader.read([frame])
    return found


def test_a_recording_has_so_many_frames_and_time_only_goes_on(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", COUNT)

    found = frames(tmp_path / "a")

    assert len(found) == COUNT
    assert all(one.at <= other.at for one, other in itertools.pairwise(found))
    assert {frame.channel for frame in found} == set(Channel)
    assert len({frame.connection for frame in found}) == 3


def test_every_message_is_readable_and_every_tick_belongs_to_a_request(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", COUNT)

    found = facts(tmp_path / "a")

    ticks = [fact for fact in found if isinstance(fact, ProgressReceived)]
    assert len(ticks) > COUNT * 0.9
    assert not [fact for fact in found if isinstance(fact, UnreadableReceived)]
    assert not [fact for fact in ticks if fact.request is None or texts(fact.findings)]
    tokens = {fact.token for fact in found if isinstance(fact, RequestMade)}
    assert {type(token) for token in tokens} == {str, int, type(None)}
    of_one = [fact.progress for fact in ticks if fact.token == "files-1-0"]
    assert of_one == list(range(1, 107))


def test_a_longer_recording_has_longer_jobs_not_more(tmp_path: Path) -> None:
    write_recording(tmp_path / "short", COUNT)
    write_recording(tmp_path / "long", 4 * COUNT)

    short, long = (
        [fact for fact in facts(tmp_path / name) if isinstance(fact, RequestMade)]
        for name in ("short", "long")
    )
    assert 5 * ROUNDS <= len(short) - 3 <= 5 * ROUNDS + 5
    assert len(long) == len(short)


def test_the_words_to_look_for_are_rare(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", COUNT)

    assert (tmp_path / "a").read_bytes().count(NEEDLE.encode()) == ROUNDS // 10


def test_the_same_count_gives_the_same_bytes(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", 2_000)
    write_recording(tmp_path / "b", 2_000)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
