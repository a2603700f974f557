"""Work in chunks that a later request can resume, even after the server was restarted.

Source: the draft "Resuming": a result with `nextResumeToken` in its `_meta` can be resumed by the
same request with that token as `resumeToken`; a rejected token is error -32602.
"""

import contextlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.wire import INTERNAL_ERROR, INVALID_PARAMS, JsonObject, RpcError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NAME: Final = re.compile(r"[\w-]{1,64}")
_POLL_S: Final = 0.02
_LOCKED_S: Final = 2.0


class Work:
    """Resumable work, in two files that outlive the server.

    `NAME.txt` has a line for each finished chunk, which is never written again. `NAME.json` has the
    request, the number of attempts, and the issued tokens.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Keep the files in `folder`, which is created if necessary.

        Raises:
            RpcError: `name` is not a valid file name.
        """
        if not _NAME.fullmatch(name):
            raise RpcError(INVALID_PARAMS, "A job's name has up to 64 letters, digits, - and _")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.output = folder / f"{name}.txt"
        self._state_file = folder / f"{name}.json"
        self._state: JsonObject = {}

    @property
    def attempts(self) -> int:
        return int(self._state["attempts"])

    @property
    def lines(self) -> list[str]:
        return self.output.read_text(encoding="utf-8").splitlines()

    def begin(self, request: str) -> None:
        self.output.write_bytes(b"")
        self._save({"request": request, "attempts": 1, "tokens": {}})

    def resume(self, request: str, token: Any) -> None:
        """Resume the work.

        Raises:
            RpcError: -32602, the token is rejected, or the request differs.
        """
        state = self._load()
        if json.dumps(token) not in state["tokens"]:
            raise RpcError(INVALID_PARAMS, "The resume token is unknown, or its job is complete")
        if state["request"] != request:
            raise RpcError(INVALID_PARAMS, "The parameters differ from those of the first request")
        self._truncate_to_lines()
        self._save({**state, "attempts": state["attempts"] + 1})

    def write(self, line: str) -> None:
        """Finish a chunk, which is written completely or does not count."""
        with self.output.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def issue(self, token: Any) -> Any:
        self._save({**self._state, "tokens": {**self.tokens, json.dumps(token): time.time()}})
        return token

    @property
    def tokens(self) -> JsonObject:
        """Valid tokens as JSON, the newest last, with the time at which each was issued."""
        return dict(self._state["tokens"])

    def finish(self) -> None:
        self._save({**self._state, "tokens": {}})

    def _load(self) -> JsonObject:
        try:
            state: JsonObject = json.loads(self._state_file.read_bytes())
        except FileNotFoundError:
            return {"request": "", "attempts": 0, "tokens": {}}
        return state

    def _save(self, state: JsonObject) -> None:
        """Replace the state atomically."""
        new = self._state_file.with_suffix(".new")
        new.write_text(json.dumps(state), encoding="utf-8")
        new.replace(self._state_file)
        self._state = state

    def _truncate_to_lines(self) -> None:
        content = self.output.read_bytes()
        os.truncate(self.output, content.rfind(b"\n") + 1)

    @contextlib.contextmanager
    def locked(self, call: Call) -> Iterator[None]:
        """Exclude other attempts, including those of another server process.

        Raises:
            RpcError: Another attempt is running.
        """
        lock = os.open(self._state_file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + _LOCKED_S
            while not has_locked(lock):
                if time.monotonic() >= deadline:
                    raise RpcError(INTERNAL_ERROR, "Another attempt of this job is running")
                call.sleep(_POLL_S)
            yield
        finally:
            os.close(lock)


@contextlib.contextmanager
def attempt(call: Call, name: str) -> Iterator[Work]:
    """Start the work called `name`, or resume it if the request has a token.

    Raises:
        RpcError: The token or the request is rejected, or another attempt is running.
    """
    work = Work(call.state_dir, name)
    params = dict(call.params)
    meta = params.pop("_meta", None)
    request = json.dumps([call.method, params], sort_keys=True)
    has_token = isinstance(meta, dict) and "resumeToken" in meta
    with work.locked(call):
        if has_token:
            work.resume(request, meta["resumeToken"])
        else:
            work.begin(request)
        yield work


def write_some(
    call: Call, work: Work, lines: list[str], most: int, pause_s: float, part: str
) -> None:
    """Write the next of `lines`, at most `most`, and return a token if more are left."""
    done = len(work.lines)
    for number, line in enumerate(lines[done : done + most], start=done + 1):
        call.sleep(pause_s)
        work.write(line)
        call.progress(number, len(lines), f"{part} {number} of {len(lines)}")
    if done + most < len(lines):
        call.result_meta["nextResumeToken"] = work.issue(new_token())
    else:
        work.finish()


def new_token() -> str:
    """A random, opaque token."""
    return secrets.token_urlsafe(12)


def default_state_dir() -> Path:
    """The default folder for resumable work; `--state-dir` overrides it."""
    name = "mcp-progress-demo"
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    if configured.is_absolute():
        return configured / name
    try:
        return Path.home() / ".local" / "state" / name
    except RuntimeError:  # the system knows no home of this user
        import tempfile

        return Path(tempfile.gettempdir()) / f"{name}-{os.getpid()}"


def has_locked(file: int) -> bool:
    """Try to lock an open file until it is closed or the process ends."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
