"""The folder of recordings: names, entries, and pruning that never takes what somebody writes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from filelock import FileLock

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.folder import LIVE, RecordingsFolder, part_path, run_of
from mcp_progress_monitor.recording.format import header
from mcp_progress_monitor.recording.settings import RecordingSettings

NOW = 1_800_000_000.0
DAY = 24 * 3600.0
OLD = "2026-01-01T00-00-00-p1"
NEW = "2026-02-01T00-00-00-p2"


@pytest.fixture
def folder(tmp_path: Path) -> RecordingsFolder:
    return RecordingsFolder(tmp_path / "recordings")


@pytest.fixture
def held(folder: RecordingsFolder) -> Iterator[Path]:
    """A recording that another program writes."""
    folder.path.mkdir()
    path = put(folder, NEW)
    other = RecordingsFolder(folder.path)
    other.begin(path)
    yield path
    other.end()


def put(
    folder: RecordingsFolder, run: str, part: int = 1, *, size: int = 10, age_days: float = 0
) -> Path:
    """A part on disk that was last written so many days before `NOW`."""
    folder.path.mkdir(exist_ok=True)
    path = part_path(folder.path / f"{run}.mcprec", part)
    path.write_bytes(b"x" * size)
    when = NOW - age_days * DAY
    os.utime(path, (when, when))
    return path


def names(folder: RecordingsFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


def test_a_recording_is_named_by_time_and_process(folder: RecordingsFolder) -> None:
    when = datetime(2026, 11, 20, 19, 3, 11, 500).astimezone().timestamp()
    path = folder.new_path(when)
    assert path == folder.path / f"2026-11-20T19-03-11-p{os.getpid()}.mcprec"
    assert not folder.path.exists()


def test_two_recordings_of_one_second_have_two_names(folder: RecordingsFolder) -> None:
    first = folder.new_path(NOW)
    folder.path.mkdir()
    first.touch()
    second = folder.new_path(NOW)
    folder.begin(second)
    third = folder.new_path(NOW)
    folder.end()
    assert len({run_of(path) for path in (first, second, third)}) == 3


def test_a_name_is_found_for_a_recording_in_a_closed_folder(closed_dir: Path) -> None:
    assert RecordingsFolder(closed_dir).new_path(0.0).parent == closed_dir


@pytest.mark.parametrize(
    ("name", "run"),
    [("a.mcprec", "a"), ("a.2.mcprec", "a"), ("a.b.mcprec", "a.b"), ("a.0.mcprec", "a.0")],
)
def test_the_parts_of_a_run_share_its_name(tmp_path: Path, name: str, run: str) -> None:
    assert run_of(tmp_path / name) == run


def test_parts_are_numbered_in_their_names(tmp_path: Path) -> None:
    first = tmp_path / "a.mcprec"
    assert part_path(first, 1) == first
    assert part_path(first, 12) == tmp_path / "a.12.mcprec"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_the_folder_is_made_private(folder: RecordingsFolder) -> None:
    folder.begin(folder.new_path(NOW))
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.path.iterdir()] == [0o600]
    folder.end()


def test_nothing_is_left_of_the_lock_of_a_run_that_ended(folder: RecordingsFolder) -> None:
    folder.begin(folder.new_path(NOW))
    folder.end()
    folder.end()
    assert names(folder) == []


def test_a_run_is_written_by_one_program_only(folder: RecordingsFolder, held: Path) -> None:
    with pytest.raises(OSError, match="lock"):
        folder.begin(held)


class TestEntries:
    def test_there_are_none_without_a_folder(self, folder: RecordingsFolder) -> None:
        assert folder.entries() == []

    def test_a_run_is_one_entry_with_all_its_parts(self, folder: RecordingsFolder) -> None:
        paths = [put(folder, OLD, part, size=part) for part in (1, 2, 10)]
        (entry,) = folder.entries()
        assert entry.path == paths[0]
        assert entry.paths == tuple(paths)
        assert entry.size == 13
        assert not entry.is_in_use

    def test_a_run_that_lost_its_first_part_begins_with_the_next(
        self, folder: RecordingsFolder
    ) -> None:
        path = put(folder, OLD, 2)
        assert folder.entries()[0].path == path

    def test_they_are_in_order_of_their_beginning(self, folder: RecordingsFolder) -> None:
        late, early = put(folder, "a"), put(folder, "b", age_days=1)
        early.write_bytes(header({"started": "2026-01-02T03:04:05.5+00:00"}))
        late.write_bytes(header({"started": "2026-01-02T03:04:06+00:00"}))
        found = folder.entries()
        assert [entry.path for entry in found] == [early, late]
        assert found[0].begun_when == datetime.fromisoformat("2026-01-02T03:04:05.5Z").timestamp()

    @pytest.mark.parametrize(
        "content", [b"", b"junk", b"#mcp-recording {", header({}), header({"started": 5})]
    )
    def test_what_does_not_say_when_it_began_changed_last_then(
        self, folder: RecordingsFolder, content: bytes
    ) -> None:
        path = put(folder, "a")
        path.write_bytes(content)
        os.utime(path, (NOW, NOW))
        assert folder.entries()[0].begun_when == NOW

    def test_other_files_and_links_are_none(self, folder: RecordingsFolder, tmp_path: Path) -> None:
        put(folder, OLD)
        (folder.path / "settings.json").touch()
        (folder.path / "folder.mcprec").mkdir()
        (tmp_path / "target").touch()
        (folder.path / "link.mcprec").symlink_to(tmp_path / "target")
        assert len(folder.entries()) == 1

    def test_what_a_program_writes_is_in_use(self, folder: RecordingsFolder, held: Path) -> None:
        put(folder, OLD)
        in_use = {entry.path for entry in folder.entries() if entry.is_in_use}
        assert in_use == {held}

    def test_what_this_program_writes_is_in_use(self, folder: RecordingsFolder) -> None:
        path = put(folder, NEW)
        folder.begin(path)
        assert folder.entries()[0].is_in_use
        folder.end()
        assert not folder.entries()[0].is_in_use


class TestPruning:
    def test_what_is_older_than_it_may_be_goes(self, folder: RecordingsFolder) -> None:
        old, young = put(folder, OLD, age_days=8), put(folder, NEW, age_days=6)
        assert folder.prune(RecordingSettings(keep_days=7), NOW) == [old]
        assert names(folder) == [young.name]

    def test_the_oldest_parts_go_until_the_rest_fits(self, folder: RecordingsFolder) -> None:
        parts = [put(folder, OLD, part, size=100, age_days=5 - part) for part in (1, 2, 3)]
        put(folder, NEW, size=100)
        assert folder.prune(RecordingSettings(keep_bytes=250), NOW) == parts[:2]
        assert folder.prune(RecordingSettings(keep_bytes=200), NOW) == []

    def test_what_another_program_writes_stays_whatever_its_size(
        self, folder: RecordingsFolder, held: Path
    ) -> None:
        old = put(folder, OLD, age_days=1)
        assert folder.prune(RecordingSettings(keep_bytes=1), NOW) == [old]
        assert held.exists()

    def test_what_a_killed_program_wrote_goes_as_any_other(self, folder: RecordingsFolder) -> None:
        path = put(folder, OLD)
        program = (
            "import os, sys, pathlib\n"
            "from mcp_progress_monitor.recording.folder import RecordingsFolder\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "RecordingsFolder(path.parent).begin(path)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
        assert ended.returncode != 0
        assert names(folder) == [f"{OLD}.lock", path.name]
        assert not folder.entries()[0].is_in_use
        assert folder.prune(RecordingSettings(keep_bytes=1), NOW) == [path]

    def test_of_the_run_that_is_written_here_all_but_the_growing_part_may_go(
        self, folder: RecordingsFolder
    ) -> None:
        parts = [put(folder, NEW, part, size=100, age_days=4 - part) for part in (1, 2, 3)]
        folder.begin(parts[0])
        assert folder.prune(RecordingSettings(keep_bytes=150), NOW, parts[2]) == parts[:2]
        assert folder.prune(RecordingSettings(keep_bytes=1), NOW, parts[2]) == []
        folder.end()

    def test_what_the_user_put_there_stays(self, folder: RecordingsFolder) -> None:
        mine = put(folder, "the day it broke", age_days=99)
        (folder.path / "settings.json").touch()
        assert folder.prune(RecordingSettings(keep_days=1, keep_bytes=1), NOW) == []
        assert mine.exists()

    def test_notes_and_locks_go_with_what_they_belong_to(self, folder: RecordingsFolder) -> None:
        put(folder, OLD, age_days=99)
        put(folder, NEW)
        beside = [f"{OLD}.mcprec.notes.json", f"{OLD}.lock", f"{NEW}.mcprec.notes.json"]
        for name in [*beside, "mine.mcprec.notes.json"]:
            (folder.path / name).touch()
            os.utime(folder.path / name, (NOW - DAY, NOW - DAY))
        folder.prune(RecordingSettings(), NOW)
        assert names(folder) == [f"{NEW}.mcprec", beside[2], "mine.mcprec.notes.json"]

    def test_a_lock_that_has_just_been_made_stays(self, folder: RecordingsFolder) -> None:
        folder.path.mkdir()
        lock = folder.path / f"{OLD}.lock"
        lock.touch()
        os.utime(lock, (NOW - 1, NOW - 1))
        folder.prune(RecordingSettings(), NOW)
        assert lock.exists()

    def test_what_cannot_be_deleted_is_not_counted_as_gone(
        self, folder: RecordingsFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = put(folder, OLD, age_days=2), put(folder, NEW, age_days=1)
        unlink = type(first).unlink

        def refuse(path: Path, missing_ok: bool = False) -> None:
            if path == first:
                raise PermissionError
            unlink(path, missing_ok=missing_ok)

        monkeypatch.setattr(type(first), "unlink", refuse)
        assert folder.prune(RecordingSettings(keep_bytes=10), NOW) == [second]

    def test_without_a_folder_there_is_nothing_to_prune(self, folder: RecordingsFolder) -> None:
        assert folder.prune(RecordingSettings(), NOW) == []


class TestDeleting:
    def test_all_parts_and_notes_go(self, folder: RecordingsFolder) -> None:
        for part in (1, 2):
            put(folder, OLD, part)
        (folder.path / f"{OLD}.mcprec.notes.json").touch()
        put(folder, NEW)
        folder.delete(folder.entries()[0])
        assert names(folder) == [f"{NEW}.mcprec"]

    def test_what_is_being_written_is_not_deleted(
        self, folder: RecordingsFolder, held: Path
    ) -> None:
        with pytest.raises(UserError, match="being written"):
            folder.delete(folder.entries()[0])
        assert held.exists()

    def test_what_cannot_be_deleted_is_reported(
        self, folder: RecordingsFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = put(folder, OLD)
        entry = folder.entries()[0]

        def refuse(_path: Path, missing_ok: bool = False) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(type(path), "unlink", refuse)
        with pytest.raises(UserError, match="Permission denied"):
            folder.delete(entry)


# Recordings of taps, in a folder within

TAP = "2026-01-01T00-00-00-p7-postgres-15-2"


@pytest.fixture
def live(folder: RecordingsFolder) -> RecordingsFolder:
    folder.path.mkdir()
    return RecordingsFolder(folder.path / LIVE)


def test_recordings_of_taps_are_listed_with_ours(
    folder: RecordingsFolder, live: RecordingsFolder
) -> None:
    put(folder, NEW)
    path = live.path / f"{TAP}.mcprec"
    live.path.mkdir()
    path.write_bytes(header({"started": "2026-01-01T00:00:00+00:00"}))
    lock = FileLock(live.path / f"{TAP}.lock")
    with lock:
        found = {entry.path.name: entry for entry in folder.entries()}
        assert set(found) == {f"{TAP}.mcprec", f"{NEW}.mcprec"}
        assert (found[path.name].paths, found[path.name].is_in_use) == ((path,), True)
        with pytest.raises(UserError, match="still being written"):
            folder.delete(found[path.name])
    (entry,) = (entry for entry in folder.entries() if entry.path == path)
    assert not entry.is_in_use
    folder.delete(entry)
    assert not path.exists()


def test_limits_of_age_and_size_hold_for_recordings_of_taps(
    folder: RecordingsFolder, live: RecordingsFolder
) -> None:
    old, held = (put(live, name, age_days=90) for name in (TAP, TAP.replace("p7", "p8")))
    fresh = put(live, TAP.replace("p7", "p9"), size=600, age_days=1)
    foreign = put(live, "mine", age_days=90)
    newest = put(folder, NEW, size=600)
    with FileLock(held.with_suffix(".lock")):
        assert folder.prune(RecordingSettings(keep_days=30), NOW) == [old]
        assert folder.prune(RecordingSettings(keep_bytes=1000), NOW) == [fresh]
    assert (held.exists(), foreign.exists(), newest.exists()) == (True, True, True)


def test_what_is_written_now_is_reported_by_its_lock(live: RecordingsFolder) -> None:
    paths = [put(live, name) for name in (TAP, f"{OLD}-db", f"{NEW}-web")]
    (live.path / f"{NEW}-web.lock").touch()  # left by a tap that was killed
    locks = [
        FileLock(path.with_name(path.name.removesuffix(".mcprec") + ".lock")) for path in paths
    ]
    with locks[0], locks[1]:
        assert live.written() == sorted(paths[:2])
        assert live.written(known=paths[:1]) == paths[1:2]
        assert [live.is_written(path) for path in paths] == [True, True, False]
    assert live.written() == []
    assert RecordingsFolder(live.path / "none").written() == []


@pytest.mark.timeout(10)
@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes with names")
def test_links_and_pipes_are_no_recordings_that_are_written(live: RecordingsFolder) -> None:
    private_file.make_folder(live.path)
    secret = live.path.parent / "secret"
    secret.write_bytes(b"#mcp-recording {}\n")
    (live.path / "a.mcprec").symlink_to(secret)
    os.mkfifo(live.path / "b.mcprec")
    holders = [RecordingsFolder(live.path) for _ in range(2)]
    for holder, name in zip(holders, ("a", "b"), strict=True):
        holder.begin(live.path / f"{name}.mcprec")
    assert live.written() == []
    assert live.written(since=0.0) == []
    for holder in holders:
        holder.end()


def test_what_killed_taps_left_is_swept(folder: RecordingsFolder, live: RecordingsFolder) -> None:
    """Locks, and parts that were killed before they had a header: the first one, or a later one."""
    put(live, TAP)
    gone = [f"{OLD}-p7-files.mcprec.new", f"{OLD}-p7-files.lock", f"{TAP}.2.mcprec.new"]
    kept = ["mine.lock", "mine.mcprec.new", f"{NEW}-p8-files.mcprec.new"]
    for name in (*gone, *kept):
        (live.path / name).touch()
        os.utime(live.path / name, (NOW - DAY, NOW - DAY))
    with FileLock(live.path / f"{NEW}-p8-files.lock"):
        folder.prune(RecordingSettings(), NOW)
        left = {path.name for path in live.path.iterdir()}
    assert left == {f"{TAP}.mcprec", f"{NEW}-p8-files.lock", *kept}


def test_the_parts_of_a_taps_recording_are_one(tmp_path: Path) -> None:
    live = tmp_path / LIVE
    live.mkdir()
    first = live / "2026-01-01T00-00-00-p9-files.3.mcprec"
    for path in (first, live / "2026-01-01T00-00-00-p9-files.4.mcprec"):
        path.write_bytes(header({}))
        os.utime(path, (0, 0))
    (entry,) = RecordingsFolder(tmp_path).entries()
    assert entry.paths[0] == first
    assert RecordingsFolder(live).written(since=0.0) == [first]
    earlier = live / "2026-01-01T00-00-00-p9-files.mcprec"  # deleted since
    assert RecordingsFolder(live).written([earlier], 0.0) == []
