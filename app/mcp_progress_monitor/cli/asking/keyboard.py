"""Lines typed at a terminal, awaited so that the wait can end when its reason does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from typing import TextIO

_LOOK_S = 0.05
_CHUNK = 65_536


class HungUpError(Exception):
    """There is nobody (any more) who could type: the end of the input, or of the terminal."""


class Keyboard:
    """The terminal that standard input is.

    Lines come as the terminal hands them over: whole, edited, echoed. What was typed before the
    question that it would answer is thrown away: nobody says yes to what they have not read.
    """

    def __init__(self, stream: TextIO) -> None:
        """Read from `stream`, which is a terminal."""
        self._stream = stream
        self._typed = b""

    async def line(self) -> str:
        """The next line, without its end.

        Raises:
            HungUpError: there is none.
        """
        if sys.platform == "win32":
            return await self._console_line()
        while b"\n" not in self._typed:
            await anyio.wait_readable(self._stream.fileno())
            self._typed += self._read()
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(self._stream.encoding or "utf-8", "replace").rstrip("\r")

    def discard(self) -> None:
        """Throw away what was typed until now."""
        self._typed = b""
        if sys.platform == "win32":
            import msvcrt

            while msvcrt.kbhit():
                msvcrt.getwch()
        else:
            import termios

            try:
                termios.tcflush(self._stream.fileno(), termios.TCIFLUSH)
            except (OSError, termios.error) as error:
                raise HungUpError from error

    def _read(self) -> bytes:
        """What can be read now; at the end of the input, a line begun counts as one."""
        try:
            piece = os.read(self._stream.fileno(), _CHUNK)
        except OSError as error:  # how Linux tells of a terminal's end
            raise HungUpError from error
        if not piece and not self._typed:
            raise HungUpError
        return piece or b"\n"

    async def _console_line(self) -> str:
        """A line of a Windows console, which cannot be awaited: until a key is down, look often."""
        while not _is_key_down():  # noqa: ASYNC110  # nothing there can be awaited
            await anyio.sleep(_LOOK_S)
        line = self._stream.readline()
        if not line:
            raise HungUpError
        return line.rstrip("\r\n")


def _is_key_down() -> bool:
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.kbhit()
    return True


def terminal_of_user() -> Keyboard | None:
    """The keyboard of somebody who can read a question; None without such a person.

    That takes a terminal as standard input and as standard error, and not to be in the background
    of a shell, where reading would stop the program.
    """
    streams = (sys.stdin, sys.stderr)
    if any(stream is None or stream.closed or not stream.isatty() for stream in streams):
        return None
    return Keyboard(sys.stdin) if _is_in_foreground(sys.stdin.fileno()) else None


def _is_in_foreground(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
