"""A recording as rows of Parquet tables, for DuckDB, Polars and other engines.

Rows are written while the recording is read, so that memory does not grow with its length. Needs
pyarrow, which is an extra: imported only here.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import parquet as pq

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.final_jobs import FinalJobs
from mcp_progress_monitor.exports.frames import JobNumbers
from mcp_progress_monitor.exports.options import OutputFile
from mcp_progress_monitor.process_lock import process_lock
from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestAnswered, RequestMade
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, FrameRun, raws_of, server_name
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.recording.index import Segment
from mcp_progress_monitor.tracker.estimate import as_float
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.context_cost import tokens_of_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mcp_progress_monitor.checking.judge import SessionJudge
    from mcp_progress_monitor.exports.final_jobs import FinalJob
    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.protocol.frames import FactRun, Frame, PlainTick
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import ChangeSet

_ROWS: Final = 50_000  # of one row group
_BYTES: Final = 16 * 2**20  # of texts in one row group, unless one message is larger
_INDEXED: Final = 200_000  # frames whose index stays in memory
_EXACT: Final = 2**53  # pyarrow refuses larger integers as floating-point numbers
_TIME: Final = pa.timestamp("us", "UTC")
_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_OF: Final = {"recording": _TEXT, "server": _TEXT, "server_version": _TEXT}

TABLES: Final = {
    "messages": {
        "recording": _TEXT,
        "number": _WHOLE,
        "time": _TIME,
        "server": _TEXT,
        "connection": _TEXT,
        "channel": _TEXT,
        "kind": _TEXT,
        "method": _TEXT,
        "token": _TEXT,
        "id": _TEXT,
        "request": _WHOLE,
        "job": _WHOLE,
        "size": _WHOLE,
        "text": _TEXT,
    },
    "jobs": {
        **_OF,
        "job": _WHOLE,
        "client": _TEXT,
        "sender": _TEXT,
        "method": _TEXT,
        "name": _TEXT,
        "state": _TEXT,
        "started": _TIME,
        "duration_s": _REAL,
        "ticks": _WHOLE,
        "progress": _REAL,
        "total": _REAL,
        "attempts": _WHOLE,
        "outcomes": pa.list_(pa.string()),
        "reply_size": _WHOLE,
        "error": _TEXT,
        "error_code": _WHOLE,
    },
    "ticks": {
        "recording": _TEXT,
        "number": _WHOLE,
        "time": _TIME,
        "server": _TEXT,
        "job": _WHOLE,
        "progress": _REAL,
        "total": _REAL,
        "message": _TEXT,
    },
    "findings": {
        **_OF,
        "rule": _TEXT,
        "level": _TEXT,
        "by": _TEXT,
        "revision": _TEXT,
        "method": _TEXT,
        "name": _TEXT,
        "job": _WHOLE,
        "messages": _WHOLE,
        "first": _WHOLE,
        "text": _TEXT,
    },
    "tools": {**_OF, "name": _TEXT, "tokens": _WHOLE, "digest": _TEXT, "definition": _TEXT},
}
"""The columns of each table; times are UTC."""


class _Sink(io.RawIOBase):
    """An `OutputFile` as pyarrow writes to one."""

    def __init__(self, file: OutputFile) -> None:
        super().__init__()
        self._file = file
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._file.write(bytes(data))
        self._size += len(data)
        return len(data)


class _Table:
    """One table's file in the making; rows are written in groups."""

    def __init__(self, columns: dict[str, pa.DataType], file: OutputFile) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in columns}
        self.bytes = 0
        self._schema = pa.schema(columns.items())
        self._writer = pq.ParquetWriter(_Sink(file), self._schema, compression="zstd")

    def add(self, *row: Any) -> None:
        """Add a row, with values in the order of the columns."""
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def write(self, *, is_all: bool = False) -> None:
        """Write the rows if they are many, or `is_all` of them."""
        rows = len(next(iter(self.columns.values())))
        if not rows or (rows < _ROWS and self.bytes < _BYTES and not is_all):
            return
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(self.columns.values(), self._schema, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        for values in self.columns.values():
            values.clear()
        self.bytes = 0

    def close(self) -> None:
        self.write(is_all=True)
        self._writer.close()


class Place(NamedTuple):
    """Where a recording's rows go: `recording` is its id, `day` the UTC day on which it began."""

    folder: Path
    recording: str
    day: str
    host: str

    def path(self, table: str) -> Path:
        part = f"day={self.day}/host={_folder_name(self.host)}"
        return self.folder / table / part / f"{self.recording}.parquet"


def recording_id(run: object, otherwise: str) -> str:
    """The name of a recording's files: the same for its copies, and however it grows.

    `otherwise` identifies a recording that has no valid `run`.
    """
    known = run if isinstance(run, str) and run else otherwise
    return hashlib.sha256(known.encode(errors="replace")).hexdigest()[:20]


def _folder_name(text: str) -> str:
    """A name that is a valid one of a folder everywhere, and of a Hive partition."""
    kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in text[:100])
    return kept.strip(".") or "unknown"


@contextlib.contextmanager
def tables(place: Place) -> Iterator[dict[str, _Table]]:
    """Open the files of a recording; they replace those of an earlier export together at the end.

    Another export to the same folder is waited for. `UserError` if they cannot be written: then
    the earlier ones stay.
    """
    with contextlib.ExitStack() as stack:
        try:
            private_file.make_folder(place.folder)
            with contextlib.suppress(NotImplementedError):  # the file system has no locks
                stack.enter_context(process_lock(place.folder / ".export.lock"))
            for name in TABLES:
                private_file.make_folder(place.path(name).parent)
        except OSError as error:
            hint, reason = "Choose another folder.", error.strerror or str(error)
            what = "Cannot write to the folder"
            raise UserError(ErrorDetails(what, str(place.folder), hint, reason)) from error
        files = {name: OutputFile(place.path(name)) for name in TABLES}
        for file in files.values():
            file.begin()
            stack.callback(file.abandon)
        made = {name: _Table(columns, files[name]) for name, columns in TABLES.items()}
        yield made
        for table in made.values():
            table.close()
        for file in files.values():
            file.finish()
        _remove_moved(place)


def _remove_moved(place: Place) -> None:
    """Delete files of this recording for another day or host."""
    for table in TABLES:
        for path in (place.folder / table).glob(f"day=*/host=*/{place.recording}.parquet"):
            if path != place.path(table):
                with contextlib.suppress(OSError):
                    path.unlink()


class SessionTables:
    """Makes the rows of a session while it is read: `take` gathers, `write` writes them.

    A listener of the session calls the first; the second may raise `UserError`.
    """

    def __init__(
        self, source: ExportSource, made: dict[str, _Table], recording: str, redaction: Redaction
    ) -> None:
        self._source = source
        self._made = made
        self._recording = recording
        self._redaction = redaction
        self._jobs = JobNumbers(source)
        self._final: FinalJobs[None] = FinalJobs(source.jobs)
        self._tokens: dict[int, str | None] = {0: None}
        self._methods: dict[int, str | None] = {}
        self._versions: dict[str, str | None] = {}

    def take(self, frames: Sequence[Frame], facts: FactRun, changes: ChangeSet) -> None:
        """Gather the rows of a chunk, after it was indexed and its jobs were updated."""
        if frames:
            had_secrets = self._redaction.count
            self._take_messages(frames, facts)
            is_plain = self._redaction.count == had_secrets
            # Searching escapes as text may find more.
            is_plain = is_plain and not any(b"\\" in raw for raw in raws_of(frames))
            self._take_ticks(facts, is_plain=is_plain)
        for job in self._final.take(changes):
            self._take_job(job)

    def write(self) -> None:
        for table in self._made.values():
            table.write()
        self._source.timeline.columns.keep_newest(_INDEXED)

    def finish(self, judge: SessionJudge) -> None:
        """Gather what only the end of the session shows: jobs, findings and tools."""
        for job in self._final.rest():
            self._take_job(job)
            self._made["jobs"].write()
        for result in judge.results:
            self._made["findings"].add(
                self._recording,
                result.server,
                self._version_of(result.server),
                result.rule,
                result.level.value,
                result.by.name.lower(),
                result.revision,
                _clean(result.method) or None,
                _clean(result.title) or None,
                result.job,
                result.count,
                result.first,
                self._text(result.finding.text),
            )
        for server in self._source.servers.snapshots():
            self._take_tools(server)

    def _take_messages(self, frames: Sequence[Frame], facts: FactRun) -> None:
        table, timeline, jobs = self._made["messages"], self._source.timeline, self._jobs.of
        columns, count = table.columns, len(frames)
        ids = _ids_of(facts)
        raws = raws_of(frames)
        texts = [self._redaction.raw(raw).decode(errors="replace") for raw in raws]
        table.bytes += sum(map(len, texts))
        for name, values in zip(_OF_FRAMES, _columns_of(frames), strict=True):
            columns[name] += values
        columns["recording"] += [self._recording] * count
        columns["id"] += [ids.get(number) for number in columns["number"][-count:]]
        columns["size"] += map(len, raws)
        columns["text"] += texts
        for segment, rows in timeline.stretches(timeline.end - count, timeline.end):
            some = slice(rows.start, rows.stop)
            exchanges = segment.exchanges[some]
            columns["kind"] += [_KINDS[kind & Segment.KIND] for kind in segment.kinds[some]]
            columns["method"] += map(self._method, segment.methods[some])
            columns["token"] += map(self._token, segment.tokens[some])
            columns["request"] += [each or None for each in exchanges]
            columns["job"] += map(jobs, exchanges)

    def _take_ticks(self, facts: FactRun, *, is_plain: bool) -> None:
        """Gather the ticks of a chunk; `is_plain` ones have no secrets."""
        unusual = [_tick(each) for each in facts.others if type(each) is ProgressReceived]
        ticks = [*facts.ticks, *unusual] if unusual else facts.ticks
        if not ticks:
            return
        columns = self._made["ticks"].columns
        numbers, stamps, _, requests, progress, totals, messages = zip(*ticks, strict=True)
        columns["recording"] += [self._recording] * len(ticks)
        columns["number"] += numbers
        for stamp, alike in groupby(stamps):  # as a rule all have the stamp of their chunk
            connection, _, when = stamp
            count = len([*alike])
            columns["time"] += [round(when * 1e6)] * count
            columns["server"] += [server_name(connection)] * count
        columns["job"] += [self._jobs.of(each or 0) for each in requests]
        columns["progress"] += _reals(progress)
        columns["total"] += _reals(totals)
        columns["message"] += messages if is_plain else map(self._text, messages)

    def _take_job(self, final: FinalJob[None]) -> None:
        job = final.snapshot
        failure = job.failure
        self._made["jobs"].add(
            self._recording,
            job.server,
            self._version_of(job.server),
            job.id,
            _clean(job.watched_client),
            job.sender.name.lower(),
            _clean(job.method),
            _clean(job_texts.name(job)),
            job.state.value,
            round(job.started_when * 1e6),
            job.elapsed_s if job.state.is_over else None,
            job.tick_count,
            _real(job.progress),
            _real(job.total),
            job.attempt_count,
            list(final.outcomes),
            job.reply_size,
            None if failure is None else self._text(failure.lasting),
            None if failure is None else _whole(failure.code),
        )

    def _take_tools(self, server: ServerSnapshot) -> None:
        for tool in server.tools:
            definition = canonical(self._redaction.value(tool.raw))
            self._made["tools"].add(
                self._recording,
                server.name,
                self._version_of(server.name),
                _clean(tool.name),
                tokens_of_tool(tool),
                hashlib.sha256(canonical(tool.raw)).hexdigest()[:16],
                definition.decode(errors="replace"),
            )

    def _version_of(self, name: str) -> str | None:
        if self._versions.get(name) is None:
            servers = self._source.servers.snapshots()
            self._versions = {each.name: _version(each) for each in servers}
        return self._versions.get(name)

    def _method(self, number: int) -> str | None:
        if number not in self._methods:
            if len(self._methods) > _ROWS:
                self._methods.clear()
            self._methods[number] = _clean(self._source.timeline.columns.methods.value(number))
        return self._methods[number]

    def _token(self, number: int) -> str | None:
        if number not in self._tokens:
            value = self._source.timeline.columns.tokens.value(number)
            if len(self._tokens) > _ROWS:
                self._tokens = {0: None}
            self._tokens[number] = None if value is None else json.dumps(value, default=str)
        return self._tokens[number]

    def _text(self, text: object) -> str | None:
        return _clean(self._redaction.text(text)) if isinstance(text, str) else None


_OF_FRAMES: Final = ("number", "time", "server", "connection", "channel")


def _columns_of(frames: Sequence[Frame]) -> tuple[Sequence[Any], ...]:
    """The columns `_OF_FRAMES` of frames."""
    if isinstance(frames, FrameRun):
        same = (
            round(frames.when * 1e6),
            server_name(frames.connection),
            frames.connection,
            _CHANNELS[Channel.RECEIVED],
        )
        return (frames.numbers, *([each] * len(frames) for each in same))
    names = {connection: server_name(connection) for connection in {f.connection for f in frames}}
    return (
        [frame.number for frame in frames],
        [round(frame.when * 1e6) for frame in frames],
        [names[frame.connection] for frame in frames],
        [frame.connection for frame in frames],
        [_CHANNELS[frame.channel] for frame in frames],
    )


def _tick(fact: ProgressReceived) -> PlainTick:
    stamp = fact.connection, fact.at, fact.when
    return fact.number, stamp, None, fact.request, fact.progress, fact.total, fact.message


_CHANNELS: Final = {each: each.name.lower() for each in Channel}
_KINDS: Final = {int(each): each.word for each in FrameKind}


def _ids_of(facts: FactRun) -> dict[int, str]:
    """The ids of requests and replies by the numbers of their frames."""
    return {
        fact.number: json.dumps(fact.id, default=str)
        for fact in facts.others
        if type(fact) is RequestMade or type(fact) is RequestAnswered
    }


def _clean(text: str | None) -> str | None:
    """The text as UTF-8 can have it: without halves of surrogate pairs."""
    return None if text is None else text.encode(errors="replace").decode()


def _real(value: float | None) -> float | None:
    return None if value is None else as_float(value)


def _reals(values: Sequence[float | None]) -> Iterable[float | None]:
    known = [value for value in values if value is not None]
    is_exact = {*map(type, known)} <= {int, float} and max(known, default=0) < _EXACT
    return values if is_exact and min(known, default=0) > -_EXACT else map(_real, values)


def _whole(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None


def _version(server: ServerSnapshot) -> str | None:
    version = server.server_info.get("version")
    return _clean(version) if isinstance(version, str) else None
