"""Questions and answers in lines on a terminal; a server's words are made harmless here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.cli.asking.keyboard import HungUpError
from mcp_progress_monitor.text import elide, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.cli.asking.keyboard import Keyboard
    from mcp_progress_monitor.cli.output import Output

_LONGEST: Final = 4_000
"""Characters of one text of a server that are shown: more would push the question off the screen.

Addresses are never cut.
"""


class Dialogue:
    """Says lines to the user and asks for others."""

    def __init__(self, errors: Output, keyboard: Keyboard) -> None:
        """Speak on `errors`, listen to `keyboard`."""
        self._errors = errors
        self._keyboard = keyboard

    def begin(self, title: str) -> None:
        """Begin with a question: what was typed before was not meant for it."""
        self._keyboard.discard()
        self._errors.text(f"\n? {visible(title)}\n")

    def say(self, text: str, *, indent: str = "  ") -> None:
        """Show a text of any length and origin, every line of it indented."""
        shown = elide(visible(text, keep_line_ends=True), _LONGEST)
        for line in shown.splitlines():
            self._errors.text(f"{indent}{line}\n")

    def say_whole(self, line: str, *, indent: str = "  ") -> None:
        """Show one line, however long, so that nothing of it can be hidden."""
        self._errors.text(f"{indent}{visible(line)}\n")

    async def ask(self, prompt: str) -> str:
        """A line in answer to `prompt`, without space around it.

        `HungUpError` when nobody is there to type one.
        """
        self._errors.text(f"  {visible(prompt)}: ")
        try:
            return (await self._keyboard.line()).strip()
        except HungUpError:
            self._errors.text("\n")  # what is said next begins a line
            raise

    async def choose(self, prompt: str, words: Sequence[str], *, default: str = "") -> str:
        """One of `words`, which begin with different letters; asked until it is one."""
        letters = "/".join(_marked(word, is_default=word == default) for word in words)
        while True:
            typed = (await self.ask(f"{prompt} [{letters}]")).lower()
            found = [word for word in words if typed and word.startswith(typed)]
            if len(found) == 1:
                return found[0]
            if not typed and default:
                return default
            self.say(f"Type one of: {', '.join(words)}. The first letter is enough.")

    def break_off(self, why: str) -> None:
        """Leave a line that was begun, and say why."""
        self._errors.text(f"\n  {visible(why)}\n")


def _marked(word: str, *, is_default: bool) -> str:
    return word.upper() if is_default else word
