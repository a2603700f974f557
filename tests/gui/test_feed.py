"""The feed: how often the window is updated, and that it gets everything."""

import itertools
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.gui.feed import (
    APART_MS,
    CHECKED_MS,
    FORGIVEN_MS,
    INTERVAL_MS,
    Feed,
    JobChanges,
    Load,
    Throttle,
    is_lifecycle,
)
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, FactRun, Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.tracker.snapshot import ChangeSet
from tests.findings import finding
from tests.job_stand_ins import tick


class Station:
    """A publisher that says what a test tells it to."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Update], None]] = []

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        self.listeners.append(listener)

        def unsubscribe() -> None:
            self.listeners.remove(listener)

        return unsubscribe

    def publish(self, update: Update) -> None:
        for listener in self.listeners:
            listener(update)


class Ear:
    """Keeps what a feed says, with the time."""

    def __init__(self, feed: Feed) -> None:
        self.times: list[float] = []
        self.frames: list[int] = []
        self.stderr: list[Frame] = []
        self.changes: list[ChangeSet] = []
        self.servers: list[frozenset[str]] = []
        feed.frames_added.connect(self.frames.append)
        feed.stderr_added.connect(self.stderr.extend)
        feed.jobs_changed.connect(self._on_changes)
        feed.servers_changed.connect(self.servers.append)

    def _on_changes(self, changes: ChangeSet) -> None:
        self.times.append(time.monotonic())
        self.changes.append(changes)


def frame(number: int, channel: Channel = Channel.RECEIVED) -> Frame:
    return Frame(number, "s#1", channel, 0.0, 0.0, b"{}")


@pytest.fixture
def station() -> Station:
    return Station()


@pytest.fixture
def feed(station: Station) -> Iterator[Feed]:
    feed = Feed()
    feed.attach(station)
    yield feed
    feed.detach()


@pytest.fixture
def ear(feed: Feed) -> Ear:
    return Ear(feed)


def ticks_of(*jobs: int) -> ChangeSet:
    fact = tick(1, 1, 0.0)
    return ChangeSet(progressed=frozenset(jobs), ticks=tuple((job, 1, fact) for job in jobs))


def ticked(*jobs: int) -> Update:
    return Update(changes=ticks_of(*jobs))


def aged(*jobs: int) -> Update:
    """What the beat tells of running jobs: time went by."""
    return Update(changes=ChangeSet(progressed=frozenset(jobs)))


@pytest.mark.requirement("NFR-2")
def test_a_flood_reaches_the_window_at_most_ten_times_a_second(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    published = 0

    def flooded() -> bool:
        nonlocal published
        published += 1
        station.publish(ticked(1))
        return len(ear.times) >= 6

    qtbot.waitUntil(flooded)
    # A slow machine makes the gaps longer, never shorter but for a batch that came late itself.
    for count, at in enumerate(ear.times):
        assert at - ear.times[0] >= (count * INTERVAL_MS - FORGIVEN_MS) / 1000
    assert published > len(ear.times)


@pytest.mark.requirement("NFR-2")
def test_the_first_change_is_reported_at_once(station: Station, ear: Ear) -> None:
    station.publish(ticked(1))
    QCoreApplication.processEvents()  # a single turn of the loop, in which no timer can wait
    assert len(ear.changes) == 1


def test_a_change_after_a_pause_is_reported_at_once_too(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 1)
    qtbot.wait(INTERVAL_MS + 20)
    station.publish(ticked(1))
    QCoreApplication.processEvents()
    assert len(ear.changes) == 2


def test_a_tick_that_comes_right_after_its_job_began_is_reported_before_an_interval_is_over(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    station.publish(Update(changes=ChangeSet(added=(1,))))
    qtbot.waitUntil(lambda: len(ear.changes) == 1)
    station.publish(ticked(1))
    QCoreApplication.processEvents()
    assert len(ear.changes) == 2


def test_that_a_job_got_older_is_reported_with_its_next_tick(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 1)
    station.publish(aged(1, 2))
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 2)
    assert ear.changes[1].progressed == {1, 2}


def test_a_job_that_ages_without_a_tick_is_published(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 1)
    station.publish(aged(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 2)


def test_servers_jobs_and_frames_are_reported_in_turns_of_their_own(
    qtbot: QtBot, station: Station, feed: Feed
) -> None:
    reported: list[tuple[float, str]] = []

    def note(kind: str) -> None:
        reported.append((time.monotonic(), kind))

    feed.frames_added.connect(lambda _count: note("frames"))
    feed.jobs_changed.connect(lambda _changes: note("jobs"))
    feed.servers_changed.connect(lambda _names: note("servers"))
    station.publish(
        Update([frame(1)], changes=ChangeSet(progressed=frozenset({1})), servers=frozenset("a"))
    )
    qtbot.waitUntil(lambda: len(reported) == 3)
    assert [kind for _at, kind in reported] == ["servers", "jobs", "frames"]
    gaps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(reported)]
    assert min(gaps) >= APART_MS / 1000


def test_each_kind_is_reported_ten_times_a_second_though_others_are_too(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    due = 0.0

    def flooded() -> bool:
        nonlocal due
        due = due or time.monotonic() + 10 * INTERVAL_MS / 1000
        station.publish(Update([frame(1)], NO_FACTS, ticks_of(1)))
        return time.monotonic() >= due

    qtbot.waitUntil(flooded)
    # Each at most ten times a second and neither at the cost of the other.
    assert len(ear.changes) <= 11
    assert len(ear.frames) <= 11
    assert abs(len(ear.changes) - len(ear.frames)) <= 1


def test_in_a_flood_a_batch_waits_and_comes_once_the_load_is_gone(
    qtbot: QtBot, station: Station, ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(ear.changes) == 1)
    waits = [CHECKED_MS] * 3

    def postpone(throttle: Throttle, now: Load) -> bool:
        if waits:
            throttle.due_at = now.wall + waits.pop()
            return True
        return False

    monkeypatch.setattr(Throttle, "postpone", postpone)
    station.publish(ticked(2))
    station.publish(ticked(3))
    qtbot.waitUntil(lambda: len(ear.changes) == 2)
    assert not waits
    assert ear.changes[1].progressed == {2, 3}
    assert ear.times[1] - ear.times[0] >= (INTERVAL_MS + 3 * CHECKED_MS - FORGIVEN_MS) / 1000


def test_jobs_do_not_wait_for_the_moment_of_frames_that_came_before(
    qtbot: QtBot, station: Station, feed: Feed
) -> None:
    reported: list[object] = []
    feed.frames_added.connect(reported.append)
    feed.jobs_changed.connect(reported.append)
    station.publish(Update([frame(1)]))
    qtbot.waitUntil(lambda: reported == [1])
    station.publish(Update([frame(2), frame(3)]))  # is due in a whole interval
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: len(reported) == 3)
    assert reported == [1, ChangeSet(progressed=frozenset({1})), 2]


def test_no_frame_is_left_out_of_the_count_or_counted_twice(
    qtbot: QtBot, station: Station, feed: Feed, ear: Ear
) -> None:
    for number in range(500):
        station.publish(Update(frames=[frame(number)]))
        if number % 100 == 0:
            qtbot.wait(5)
    assert feed.pending > 0
    qtbot.waitUntil(lambda: feed.pending == 0)
    assert sum(ear.frames) == 500
    assert len(ear.frames) > 1


def test_lines_of_standard_error_are_passed_on_and_other_frames_only_counted(
    station: Station, feed: Feed, ear: Ear
) -> None:
    lines = [frame(number, Channel.STDERR) for number in range(3)]
    station.publish(Update(frames=lines[:2]))
    station.publish(Update(frames=[frame(3), frame(4)]))
    station.publish(Update(frames=lines[2:]))
    feed.flush()
    assert (ear.frames, ear.stderr) == ([5], lines)
    station.publish(Update(frames=[frame(5)]))
    feed.flush()
    assert (ear.frames, ear.stderr) == ([5, 1], lines)


def test_changes_between_two_batches_come_as_one(qtbot: QtBot, station: Station, ear: Ear) -> None:
    station.publish(Update(changes=ChangeSet(added=(1,)), servers=frozenset({"a"})))
    station.publish(Update(changes=ChangeSet(added=(2,)), servers=frozenset({"b"})))
    station.publish(ticked(1))
    qtbot.waitUntil(lambda: bool(ear.changes))
    assert ear.changes == [ChangeSet(added=(1, 2), progressed=frozenset({1}))]
    assert ear.servers == [frozenset({"a", "b"})]


def test_nothing_is_reported_when_nothing_happened(
    qtbot: QtBot, station: Station, ear: Ear
) -> None:
    station.publish(Update())
    qtbot.wait(INTERVAL_MS // 2)
    assert (ear.changes, ear.frames, ear.servers) == ([], [], [])


def test_detaching_passes_on_what_waits_and_then_listens_no_more(
    station: Station, feed: Feed, ear: Ear
) -> None:
    station.publish(Update(frames=[frame(1)]))
    feed.detach()
    station.publish(Update(frames=[frame(2)]))
    assert ear.frames == [1]
    assert station.listeners == []


def test_attaching_elsewhere_leaves_the_former_publisher(station: Station, feed: Feed) -> None:
    other = Station()
    feed.attach(other)
    assert (len(station.listeners), len(other.listeners)) == (0, 1)


def test_a_job_that_came_and_went_within_a_batch_is_not_reported_of() -> None:
    earlier = ChangeSet(added=(1, 2), progressed=frozenset({1, 2}), moved=frozenset({2}))
    later = ChangeSet(removed=(2,))
    changes = JobChanges()
    changes.gather(earlier)
    changes.gather(later)
    assert changes.freeze() == ChangeSet(added=(1,), progressed=frozenset({1}))


@given(
    st.lists(
        st.tuples(st.sets(st.integers(1, 9)), st.sets(st.integers(1, 9)), st.booleans()),
        max_size=12,
    )
)
def test_gathered_changes_have_the_effect_of_the_single_ones(
    steps: list[tuple[set[int], set[int], bool]],
) -> None:
    alive: set[int] = set()
    seen: set[int] = set()
    changes = JobChanges()
    for wanted, touched, is_removing in steps:
        added = tuple(sorted(wanted - seen))
        seen.update(added)
        alive.update(added)
        removed = tuple(sorted(touched & alive)) if is_removing else ()
        alive.difference_update(removed)
        progressed = frozenset(touched & alive)
        changes.gather(ChangeSet(added, removed, progressed, progressed))
    whole = changes.freeze()
    assert set(whole.added) == alive
    assert whole.removed == ()
    assert whole.progressed <= alive


def test_marks_come_in_one_batch_before_the_frames_they_are_of(qtbot: QtBot) -> None:
    station, feed = Station(), Feed()
    feed.attach(station)
    reported: list[object] = []
    feed.frames_marked.connect(reported.append)
    feed.frames_added.connect(reported.append)
    feed.jobs_changed.connect(reported.append)
    frames = [Frame(number, "a#1", Channel.RECEIVED, 0, 0, b"") for number in (1, 2)]
    late, early = (finding("late"),), (finding("early"),)
    station.publish(Update(frames[:1], changes=ChangeSet(marked={1: late})))
    station.publish(Update(frames[1:], changes=ChangeSet(marked={2: early})))
    feed.flush()
    assert reported == [{1: late, 2: early}, 2]
    feed.flush()
    assert len(reported) == 2


def test_questions_are_reported_after_the_jobs_they_belong_to(station: Station, feed: Feed) -> None:
    reported: list[object] = []
    feed.jobs_changed.connect(reported.append)
    feed.questions_changed.connect(reported.append)
    station.publish(Update(questions=frozenset({1})))
    station.publish(Update(questions=frozenset({2}), changes=ChangeSet(added=(1,))))
    feed.flush()
    assert reported == [ChangeSet(added=(1,)), frozenset({1, 2})]


def test_log_messages_of_servers_are_passed_on_and_no_other_notifications(
    station: Station, feed: Feed
) -> None:
    reported: list[object] = []
    feed.messages_logged.connect(reported.extend)
    facts = [
        NotificationReceived(number, "a#1", 0.0, 0.0, Side.SERVER, method, {}, ())
        for number, method in enumerate(
            ("notifications/message", "notifications/tools/list_changed", "notifications/message")
        )
    ]
    frames = [Frame(number, "a#1", Channel.RECEIVED, 0, 0, b"") for number in range(3)]
    station.publish(Update(frames, FactRun.of(facts)))
    feed.flush()
    assert reported == [facts[0], facts[2]]


def test_of_two_kinds_that_are_due_the_one_is_published_first_that_waits_for_longest(
    qtbot: QtBot, station: Station, feed: Feed
) -> None:
    reported: list[object] = []
    feed.frames_added.connect(reported.append)
    station.publish(Update([frame(1)]))
    qtbot.waitUntil(lambda: reported == [1])
    feed.servers_changed.connect(reported.append)
    station.publish(Update(servers=frozenset("a")))
    qtbot.waitUntil(lambda: len(reported) == 2)
    station.publish(Update([frame(2)], servers=frozenset("b")))
    time.sleep(3 * INTERVAL_MS / 1000)  # nothing turns the loop: both are due by then
    qtbot.waitUntil(lambda: len(reported) == 4)
    assert reported == [1, frozenset("a"), 1, frozenset("b")]


def test_events_of_a_connections_life_are_known_as_the_framer_writes_them() -> None:
    framer = Framer("a#1", FrameNumbers())
    assert is_lifecycle(framer.event("opened", 0.0, 0.0, command="run"))
    assert is_lifecycle(framer.event("closed", 0.0, 0.0, reason="", exit_code=0))
    assert not is_lifecycle(framer.event("timed_out", 0.0, 0.0, request=1))
