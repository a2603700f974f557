"""Damaged recordings with secrets beside half surrogate pairs: opened, exported and replayed."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.formats import FORMATS, HAR, JSONL, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from tests.unit.recording.written import Written

_CONNECTION: Final = "remote#1"
_HALF: Final = "cut \ud83d"
_SECRET: Final = "tok-5f1c9a7e2b"
_SCRAPS: Final = (
    b"\\ud83d",
    b"\\udc80",
    b"\xff",
    b"\xed\xa0\xbd",
    b'"',
    b"\\",
    b"{",
    b"\x00",
    b"\n",
)


def _event(written: Written, name: str, **more: Any) -> None:
    """Write an event without blanks, as our transports do."""
    raw = json.dumps({"event": name, **more}, separators=(",", ":")).encode()
    written.line(Channel.EVENT, raw, connection=_CONNECTION)


def _written() -> Written:
    """A session with each kind of text: half a pair beside a secret in all of them."""
    written = Written()
    connection = _CONNECTION
    opened = {"command": _HALF, "args": ["--token", _SECRET, _HALF], "env": [_HALF], "pid": 1}
    _event(written, "opened", **opened)
    headers = [["Authorization", f"Bearer {_SECRET}"], ["X-Note", _HALF]]
    url = f"http://127.0.0.1/mcp?api_key={_SECRET}&note={_HALF}"
    request = {"exchange": 1, "method": "POST", "url": url, "headers": headers, "message": 2}
    _event(written, "http_request", **request, purpose="message")
    arguments = {"password": _SECRET, "note": _HALF, _HALF: f"password={_SECRET} {_HALF}"}
    params = {"name": _HALF, "arguments": arguments, "_meta": {"progressToken": _HALF}}
    written.send("tools/call", params, 1, connection=connection)
    answered = {"exchange": 1, "status": 200, "reason": _HALF, "headers": headers}
    _event(written, "http_response", **answered)
    _event(written, "http_body", exchange=1, text=f"token={_SECRET} {_HALF}")
    written.tick(1, token=_HALF, connection=connection)
    nested = json.dumps({"password": _SECRET, "text": _HALF}, ensure_ascii=False)
    notes: dict[str, Any] = {
        "level": "info",
        "logger": _HALF,
        "data": {"secret": _SECRET, "text": nested},
    }
    for each in (notes, {"progressToken": _HALF, "progress": 2, "message": nested}):
        message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": each}
        raw = json.dumps(message).encode()
        written.line(Channel.RECEIVED, raw, connection=connection)
    written.line(Channel.STDERR, b"password=" + _SECRET.encode() + b" \xed\xa0\xbd \xff")
    meta = {"nextResumeToken": _SECRET, _HALF: _HALF}
    result = {"content": [{"type": "text", "text": _HALF}], "_meta": meta}
    written.reply(1, result=result, connection=connection)
    _event(written, "http_ended", exchange=1, bytes=9, reason=_HALF)
    _event(written, "closed", reason=_HALF, exit_code=1)
    return written


def _damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with some bytes changed, cut out, put in or written twice."""
    made = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(made))
        span = slice(place, place + chance.choice((1, 3, 40, 400)))
        match chance.randrange(4):
            case 0:
                made[place] = chance.randrange(256)
            case 1:
                del made[span]
            case 2:
                made[place:place] = chance.choice(_SCRAPS)
            case _:
                made[place:place] = made[span]
    return bytes(made)


def _look_at(path: Path) -> bool:
    """Open, export in every form and replay; False when it is no recording at all."""
    try:
        playback = Playback(path)
    except UserError:
        return False
    marks = FindingTexts()
    playback.subscribe(lambda update: marks.add(update.changes.marked))
    while playback.advance(0.2):
        pass
    for made in _exports(playback, marks):
        made.decode()
    playback.restart()
    while playback.step():
        pass
    return True


def _exports(playback: Playback, marks: FindingTexts) -> Iterator[bytes]:
    """Every form, of all and of each job, with its secrets and without."""
    for form in FORMATS:
        for job in (None, *playback.jobs.ids()):
            for with_secrets in (False, True):
                redaction = Redaction(with_secrets=with_secrets)
                try:
                    made = b"".join(
                        export_chunks(playback, ExportOptions(form, job=job), redaction, marks)
                    )
                except UserError:
                    continue  # HAR of a recording without HTTP
                if form is HAR:
                    json.loads(made)
                if form is JSONL:
                    assert all(isinstance(json.loads(line), dict) for line in made.splitlines())
                yield made


def _look_at_damaged(tmp_path: Path, count: int) -> int:
    """Look at so many damaged recordings, each from its own seed; how many could be opened."""
    content = _written().content
    opened = 0
    for seed in range(count):
        path = tmp_path / f"{seed}.mcprec"
        path.write_bytes(_damaged(content, random.Random(seed)))  # noqa: S311 - the same each time
        opened += _look_at(path)
    return opened


def test_half_surrogates_beside_secrets_are_exported_in_every_form(tmp_path: Path) -> None:
    path = _written().save(tmp_path / "whole.mcprec")
    playback, marks = Playback(path), FindingTexts()
    playback.subscribe(lambda update: marks.add(update.changes.marked))
    while playback.advance(0.2):
        pass
    for form in FORMATS:
        made = b"".join(export_chunks(playback, ExportOptions(form), Redaction(), marks))
        assert _SECRET.encode() not in made
        assert b"cut" in made
        made.decode()


def test_damaged_recordings_are_read_as_far_as_they_are_sound(tmp_path: Path) -> None:
    assert _look_at_damaged(tmp_path, 25) >= 10


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_five_hundred_damaged_recordings_are_read(tmp_path: Path) -> None:
    assert _look_at_damaged(tmp_path, 500) >= 250
