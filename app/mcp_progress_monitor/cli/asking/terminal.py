"""Line-based dialogue on a terminal, with awaited input that can be cancelled.

Control characters in server text are escaped here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.formatting import elide, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
    from typing import TextIO

_POLL_S = 0.05
_CHUNK = 65_536


class HungUpError(Exception):
    """The end of the input or of the terminal."""


class Keyboard:
    """Standard input as a terminal in line mode.

    Input typed before a question appears is discarded, so it cannot answer an unread question.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._typed = b""

    async def line(self) -> str:
        """The next line, without its end.

        Raises:
            HungUpError: at the end of input.
        """
        if sys.platform == "win32":
            return await self._console_line()
        while b"\n" not in self._typed:
            await anyio.wait_readable(self._stream.fileno())
            self._typed += self._read()
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(self._stream.encoding or "utf-8", "replace").rstrip("\r")

    async def secret(self) -> str:
        """The next line, to be read while `hidden`; `HungUpError` at the end of input."""
        return await (self._console_secret() if sys.platform == "win32" else self.line())

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Keep the terminal from showing what is typed; `HungUpError` if it cannot.

        A Windows console shows no keys that are read one by one.
        """
        if sys.platform == "win32":
            yield
            return
        import termios

        descriptor = self._stream.fileno()
        try:
            usual = termios.tcgetattr(descriptor)
            hidden = [*usual]
            hidden[3] &= ~termios.ECHO
            termios.tcsetattr(descriptor, termios.TCSADRAIN, hidden)
        except (OSError, termios.error) as error:
            raise HungUpError from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError, termios.error):  # the terminal is gone
                termios.tcsetattr(descriptor, termios.TCSADRAIN, usual)

    def discard(self) -> None:
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
        """The available input; at its end, an unfinished line counts as a line."""
        try:
            piece = os.read(self._stream.fileno(), _CHUNK)
        except OSError as error:  # how Linux reports a terminal's end
            raise HungUpError from error
        if not piece and not self._typed:
            raise HungUpError
        return piece or b"\n"

    async def _console_line(self) -> str:
        """A line of a Windows console, which is polled because it cannot be awaited."""
        while not _is_key_down():  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)
        line = self._stream.readline()
        if not line:
            raise HungUpError
        return line.rstrip("\r\n")

    async def _console_secret(self) -> str:
        """The next line of a Windows console, key by key: keys that are read so are not shown."""
        typed = ""
        if sys.platform == "win32":
            import msvcrt

            while True:
                while not msvcrt.kbhit():  # noqa: ASYNC110
                    await anyio.sleep(_POLL_S)
                key = msvcrt.getwch()
                if key in "\r\n":
                    break
                if key in "\x03\x1a":
                    raise HungUpError
                typed = typed[:-1] if key == "\b" else typed + key
        return typed


def _is_key_down() -> bool:
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.kbhit()
    return True


def terminal_of_user() -> Keyboard | None:
    """The keyboard, if a user can be asked; otherwise None.

    Standard input and standard error must be terminals, and the process must not be a background
    job of a shell, where reading would stop it.
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


_LONGEST: Final = 4_000
"""Characters shown of a server's text, so that the question stays on screen.

URLs are shown in full.
"""


class Dialogue:
    """Prints lines for the user and reads answers."""

    def __init__(self, errors: StandardOutput, keyboard: Keyboard) -> None:
        self._errors = errors
        self._keyboard = keyboard

    def begin(self, title: str) -> None:
        self._keyboard.discard()
        self._errors.text(f"\n? {visible(title)}\n")

    def say(self, text: str, *, indent: str = "  ") -> None:
        shown = elide(visible(text, keep_line_ends=True), _LONGEST)
        for line in shown.splitlines():
            self._errors.text(f"{indent}{line}\n")

    def say_in_full(self, line: str, *, indent: str = "  ") -> None:
        self._errors.text(f"{indent}{visible(line)}\n")

    async def ask(self, prompt: str) -> str:
        """Ask for a line and strip it; `HungUpError` at the end of input."""
        self._errors.text(f"  {visible(prompt)}: ")
        try:
            return (await self._keyboard.line()).strip()
        except HungUpError:
            self._errors.text("\n")  # so that the next text starts a line
            raise

    async def ask_secrets(self, prompts: Iterable[str]) -> list[str]:
        """Ask for a line for each prompt, none of them shown; `HungUpError` at the end of input."""
        answers = []
        with self._keyboard.hidden():  # before the first prompt: some type or paste at once
            for prompt in prompts:
                self._errors.text(f"  {visible(prompt)}: ")
                try:
                    answers.append(await self._keyboard.secret())
                finally:
                    self._errors.text("\n")
        return answers

    async def choose(self, prompt: str, choices: Sequence[str], *, default: str = "") -> str:
        """Ask until the answer is one of `choices`, which start with different letters."""
        letters = "/".join(_marked(word, is_default=word == default) for word in choices)
        while True:
            typed = (await self.ask(f"{prompt} [{letters}]")).lower()
            found = [word for word in choices if typed and word.startswith(typed)]
            if len(found) == 1:
                return found[0]
            if not typed and default:
                return default
            self.say(f"Type {', '.join(choices[:-1])} or {choices[-1]}, or its first letter.")

    def break_off(self, why: str) -> None:
        self._errors.text(f"\n  {visible(why)}\n")


def confirm(
    keyboard: Keyboard, title: str, lines: Iterable[str], prompt: str, *, default: str = ""
) -> bool:
    """Ask a yes-or-no question outside an event loop; the end of input means no."""
    dialogue = Dialogue(StandardOutput(sys.stderr), keyboard)
    ask = partial(dialogue.choose, prompt, ("yes", "no"), default=default)
    return _answer(dialogue, title, lines, ask) == "yes"


def ask_line(keyboard: Keyboard, title: str, lines: Iterable[str], prompt: str) -> str | None:
    """Ask for a line outside an event loop; None at the end of input."""
    dialogue = Dialogue(StandardOutput(sys.stderr), keyboard)
    return _answer(dialogue, title, lines, partial(dialogue.ask, prompt))


def _answer(
    dialogue: Dialogue, title: str, lines: Iterable[str], ask: Callable[[], Awaitable[str]]
) -> str | None:
    try:
        dialogue.begin(title)
        for line in lines:
            dialogue.say_in_full(line)
        return anyio.run(ask)
    except HungUpError:
        return None


def _marked(word: str, *, is_default: bool) -> str:
    return word.upper() if is_default else word
