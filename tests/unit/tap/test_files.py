"""A tap's recording is found, locked and read by the rest of the program as one of its own."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mcp_progress_monitor import __version__
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording import format as recording_format
from mcp_progress_monitor.recording.folder import RecordingsFolder, run_of
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.writer import Encoder
from mcp_progress_monitor.tap import files
from mcp_progress_monitor.tap.about import About, Rest
from mcp_progress_monitor.tap.files import RunFile, file_name, quoted


def _same(arguments: Sequence[str]) -> Sequence[str]:
    return arguments


def about(
    data_dir: Path,
    *,
    command: Sequence[str] = ("server", "--flag"),
    name: str | None = None,
    limits: tuple[int, int] = (1 << 30, 1 << 40),
    shown: Callable[[Sequence[str]], Sequence[str]] = _same,
    is_recorded: bool = True,
) -> About:
    """What a tap knows of its session."""
    rest = Rest(__version__, lambda: str(data_dir), lambda: limits, shown, lambda: is_recorded)
    made = About(command, name, "Client", {"B": "secret", "A": ""}, rest)
    made.pid = 4711
    return made


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RunFile]:
    """A file that nothing was written to yet."""
    file = RunFile(about(tmp_path))
    yield file
    file.close()


def _line(file: RunFile, text: bytes, mark: str = "<") -> bytes:
    return file.prefix(mark, time.time(), time.monotonic()) + text + b"\n"


def test_lines_are_what_the_programs_own_recordings_have(file: RunFile) -> None:
    when, at = 1_795_000_000.123456, time.monotonic()
    file.write(())
    base = RecordingReader(Path(file.path)).header["at"]
    expected = recording_format.prefix("server#1", Channel.RECEIVED, when, at - base)
    own = file.prefix("<", when, at)
    assert re.sub(rb"\.\d{6}", b"", own) == re.sub(rb"\.\d{6}", b"", expected)


@pytest.mark.parametrize("name", ["server", "a b", "ü%+~", "#1:@/", "\udcff", "日本\n"])
def test_names_are_quoted_as_the_format_does(name: str) -> None:
    prefix = recording_format.prefix(f"{name}#1", Channel.SENT, 0.0, 0.0)
    assert prefix.split(b" ")[2] == quoted(f"{name}#1").encode()


def test_the_file_and_its_lock_are_those_of_the_recordings_folder(
    file: RunFile, tmp_path: Path
) -> None:
    file.write([_line(file, b"{}")])
    path, folder = Path(file.path), RecordingsFolder(tmp_path / "recordings" / "live")
    (entry,) = folder.entries()
    assert entry.path == path
    assert entry.is_in_use
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-p\d+-server\.mcprec", path.name)
    assert path.with_name(run_of(path) + ".lock").exists()
    file.close()
    (entry,) = folder.entries()
    assert not entry.is_in_use
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208  # names alone


def test_the_header_names_the_tap(file: RunFile) -> None:
    file.write(())
    header = RecordingReader(Path(file.path)).header
    assert header["program"] == f"mcp-progress-monitor {__version__}"
    assert (header["version"], header["part"], header["first"]) == (2, 1, 1)
    assert re.fullmatch(r"[0-9a-f]{32}", header["run"])
    assert header["tap"] == {
        "client": "Client",
        "pid": os.getpid(),
        "parent": os.getppid(),
        "transport": "stdio",
    }


def test_the_header_is_written_as_the_recorder_writes_it(file: RunFile) -> None:
    file.write(())
    line, _, _ = Path(file.path).read_bytes().partition(b"\n")
    assert line.startswith(recording_format.HEADER)
    fields = json.loads(line.removeprefix(recording_format.HEADER))
    assert fields.pop("version") == recording_format.VERSION
    assert recording_format.header(fields) == line + b"\n"
    assert fields.keys() - {"tap"} == _fields_of_recorder().keys() - {"version"}


def _fields_of_recorder() -> dict[str, object]:
    written = Encoder(0.0).header(part=1, first=1, when=0.0)
    fields: dict[str, object] = json.loads(written.removeprefix(recording_format.HEADER))
    return fields


def test_the_first_event_has_names_of_variables_and_no_values(file: RunFile) -> None:
    file.write(())
    (chunk,) = RecordingReader(Path(file.path))
    opened = json.loads(chunk.frames[0].raw)
    assert opened["env"] == ["A", "B"]
    assert (opened["command"], opened["args"], opened["pid"]) == ("server", ["--flag"], 4711)


def test_arguments_stay_hidden_when_the_rules_cannot_be_asked(tmp_path: Path) -> None:
    def gone(_arguments: Sequence[str]) -> Sequence[str]:
        raise ModuleNotFoundError("the program was removed")

    file = RunFile(about(tmp_path, command=("server", "a", "b"), shown=gone))
    file.write(())
    file.close()
    (chunk,) = RecordingReader(Path(file.path))
    assert json.loads(chunk.frames[0].raw)["args"] == ["***", "***"]


def test_a_name_that_is_taken_gets_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_795_000_000.0)
    made = [RunFile(about(tmp_path)) for _ in range(3)]
    monkeypatch.setattr(files, "_LOCK_S", 0.0)
    for file in made:
        file.write(())
    names = [Path(file.path).stem.rpartition("server")[2] for file in made]
    assert names == ["", "-2", "-3"]
    for file in made:
        file.close()


@pytest.mark.parametrize(
    ("name", "reduced"),
    [
        ("python3.11", "python3-11"),
        ("x.1.2", "x.1-2"),
        (".5", "-5"),
        ("v2.", "v2."),
        ("é/ü", "---"),
    ],
)
def test_no_name_looks_like_the_part_of_another(name: str, reduced: str, tmp_path: Path) -> None:
    assert file_name(name) == reduced
    path = tmp_path / f"2026-01-01T00-00-00-p1-{reduced}.mcprec"
    assert run_of(path) == path.stem


def test_large_recordings_go_on_in_further_files_the_oldest_of_which_go(tmp_path: Path) -> None:
    limit = 1024 * 1024
    file = RunFile(about(tmp_path, limits=(limit, 3 * limit)))
    line = _line(file, b'{"method":"x"}' + b" " * 100_000)
    for _ in range(65):
        file.write([line])
    last = Path(file.path)
    file.close()
    paths = sorted(last.parent.iterdir())
    assert len(paths) == 3
    assert last in paths
    assert all(path.stat().st_size < 1.2 * limit for path in paths)
    reader = RecordingReader(last)
    found = [frame.number for chunk in reader for frame in chunk.frames]
    assert found == list(range(found[0], found[0] + len(found)))
    assert [part.number for part in reader.parts] == [4, 5, 6]
    assert {error.what for error in reader.errors} == {"A part of the recording is missing"}


def test_a_write_that_fails_leaves_no_half_line(
    file: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write([_line(file, b"one")])
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 10:
            return real(descriptor, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        file.write([_line(file, b"two"), b"x" * 100_000])
    monkeypatch.setattr(os, "write", real)
    file.write([_line(file, b"three")])
    frames = [frame.raw for chunk in RecordingReader(Path(file.path)) for frame in chunk.frames]
    assert frames[1:] == [b"one", b"three"]


def test_without_rights_the_folder_is_named_in_the_error(unprivileged_dir: Path) -> None:
    closed = unprivileged_dir / "closed"
    closed.mkdir(mode=0o500)
    file = RunFile(about(closed / "data"))
    with pytest.raises(PermissionError):
        file.write(())
    assert file.path == str(closed / "data")
    file.close()
