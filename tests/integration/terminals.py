"""A person at a terminal: reads what the program shows, types lines, presses Ctrl+C."""

import os
import select
import time
from contextlib import ExitStack
from typing import Self

from tests.integration.commands import on_terminal
from tests.patience import PATIENCE_S


class Terminal:
    """The program running on a pseudo-terminal of its own; a context manager that ends it."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        """Start one command, with the terminal as all its streams."""
        self._texts = arguments
        self._environment = environment
        self.shown = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        """Start the program."""
        environment = {"COLUMNS": "150", **self._environment}
        self._resources = ExitStack()
        self._process, self._descriptor = self._resources.enter_context(
            on_terminal(self._texts, **environment)
        )
        self.pid = self._process.pid
        return self

    def __exit__(self, *_: object) -> None:
        """End the program if it goes on."""
        self._resources.close()

    def expect(self, text: str) -> str:
        """Wait until `text` is shown, later than what was expected before; returns what it took."""
        deadline = time.monotonic() + PATIENCE_S
        while (place := self.shown.find(text, self._read_to)) < 0:
            assert self._more(deadline), f"{text!r} never came; shown: {self.shown}"
        start, self._read_to = self._read_to, place + len(text)
        return self.shown[start : self._read_to]

    def type(self, line: str) -> None:
        """Type a line and Enter."""
        os.write(self._descriptor, f"{line}\n".encode())

    def press(self, key: bytes) -> None:
        """Press a key, as Ctrl+C is byte 3 and Ctrl+D byte 4."""
        os.write(self._descriptor, key)

    def end(self) -> int:
        """Wait for the end; returns the exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._more(deadline):
            pass
        return self._process.wait(PATIENCE_S)

    def _more(self, deadline: float) -> bool:
        """Read what is shown next; False at the end, and when the time is over."""
        left_s = deadline - time.monotonic()
        if not select.select([self._descriptor], [], [], max(left_s, 0))[0]:
            raise AssertionError(f"nothing more is shown after {self.shown[-4000:]!r}")
        try:
            piece = os.read(self._descriptor, 65536)
        except OSError:  # how Linux tells of a terminal's end
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)
