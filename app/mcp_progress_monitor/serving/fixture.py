"""Recordings that play servers for a test: the object behind the fixture `mcp_recorded_server`."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import program_command

if TYPE_CHECKING:
    import os

Speed = Literal["1", "10", "100", "max"]

_STOP_S: Final = 5.0


class ServedRecording:
    """A recording in the place of its server, for clients of either transport."""

    def __init__(self, arguments: list[str]) -> None:
        self.command: Final = [*program_command(), "serve", *arguments]
        """The command that serves it over stdio: the program, then its arguments."""
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The URL where it is served over HTTP, from the first request for it to the test's end.

        `UserError` if it cannot be served; what was wrong is on standard error.
        """
        if self._process is None:
            command = [*self.command, "--http", "0"]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self._url = _output(self._process).readline().strip()
        if not self._url:
            code = self._process.wait()
            what = "The recording cannot be served"
            raise UserError(ErrorDetails(what, self.command[-1], detail=f"exit code {code}"))
        return self._url

    def close(self) -> None:
        """End the process that serves it over HTTP, if there is one."""
        process = self._process
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)
        process.kill()
        process.wait()
        _output(process).close()


class RecordedServers:
    """All recordings that one test has served."""

    def __init__(self) -> None:
        self._served: list[ServedRecording] = []

    def __call__(
        self,
        recording: str | os.PathLike[str],
        *,
        server: str | None = None,
        speed: Speed = "max",
        strict: bool = True,
        allow_redacted: bool = False,
        script: str | os.PathLike[str] | None = None,
    ) -> ServedRecording:
        """Serve a recording; the arguments are the options of `serve`.

        Unlike there, answers come at once by default, and other requests than recorded are errors.
        """
        arguments = [str(Path(recording).absolute()), "--speed", speed]
        arguments += ["--server", server] if server is not None else []
        arguments += ["--strict"] if strict else []
        arguments += ["--allow-redacted"] if allow_redacted else []
        arguments += ["--script", str(Path(script).absolute())] if script is not None else []
        served = ServedRecording(arguments)
        self._served.append(served)
        return served

    def close(self) -> None:
        """End all of them."""
        for served in self._served:
            served.close()


def _output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None  # noqa: S101  # a pipe
    return process.stdout
