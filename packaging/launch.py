"""Starting the program from the checkout: with a window, without, or photographed."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from screen import ensure_platform, has_display, native_platform, virtual_screen
from system import SetupError, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from environment import Environment

# Commands of the program that never open a window (the public interface, see docs/scripts.md).
WINDOWLESS = frozenset({"tools", "call", "resume", "check", "export", "servers"})
_TELLING = frozenset({"-h", "--help", "--version"})
_VALUED = frozenset(
    {
        *("--url", "--header", "--config", "--server", "--cwd", "--env", "--era", "--record"),
        *("--data-dir", "--log-level", "--connect-timeout", "--screenshot", "--after"),
    }
)
# Beyond what a window needs to start and draw itself on a slow machine.
SCREENSHOT_PATIENCE_S = 120.0
_DEFAULT_AFTER_S = 5.0


def run(environment: Environment, arguments: Sequence[str]) -> int:
    """Run the program; where no window can appear, take its picture on a virtual screen."""
    environment.ensure()
    # -I: a folder named app where the user stands must not be taken for the program, even with
    # PYTHONPATH=. as many projects have it.
    command = [str(environment.python), "-I", "-m", "mcp_progress_monitor"]
    if not opens_window(arguments):
        _become([*command, *arguments])
    if has_display(os.environ):
        ensure_platform(environment, native_platform(os.environ), os.environ)
        _become([*command, *arguments])
    say("This machine has no display: the window opens on a virtual screen and is photographed.")
    stamp = datetime.datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    words = with_screenshot(arguments, Path.cwd() / f"screenshot-{stamp}.png")
    with virtual_screen(os.environ) as environ:
        ensure_platform(environment, native_platform(environ), environ)
        return photograph([*command, *words], environ, words)


def _become(command: list[str]) -> NoReturn:
    """Run the program in place of this one, so that its signals and exit code are its own."""
    if sys.platform == "win32":
        # Windows cannot replace a process. Ctrl+C is for the program, which ends its servers first.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)  # noqa: S606 -- no shell is the point


def photograph(command: list[str], environ: Mapping[str, str], words: Sequence[str]) -> int:
    """Run the program until it saved its picture, and say where."""
    file = Path(value_of("--screenshot", words))
    patience = SCREENSHOT_PATIENCE_S + _seconds(value_of("--after", words))
    with subprocess.Popen(command, env=dict(environ)) as process:
        previous = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SetupError(f"No picture after {patience:.0f} s; the program was ended.") from None
        finally:
            signal.signal(signal.SIGTERM, previous)
    if code == 0 and file.is_file():
        say(f"Screenshot saved: {file.resolve()}")
        return 0
    say(f"No screenshot was saved: the program ended with exit code {code}.")
    return code or 1


def opens_window(arguments: Sequence[str]) -> bool:
    """Tell whether these arguments of the program open its window."""
    own, _ = _split(arguments)
    if _TELLING & set(own):
        return False
    command = next((w for i, w in enumerate(own) if not _is_option(own, i)), None)
    return command not in WINDOWLESS


def _is_option(words: Sequence[str], index: int) -> bool:
    """Tell whether the word is an option or an option's value."""
    return words[index].startswith("-") or (index > 0 and words[index - 1] in _VALUED)


def with_screenshot(arguments: Sequence[str], file: Path) -> list[str]:
    """Return the arguments with the option that saves a picture, before any ``--``."""
    own, rest = _split(arguments)
    if value_of("--screenshot", own):
        return list(arguments)
    after = [] if value_of("--after", own) else ["--after", f"{_DEFAULT_AFTER_S:g}"]
    return [*own, "--screenshot", str(file), *after, *rest]


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide the program's own words from the server's command, which starts at ``--``."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at:]


def value_of(option: str, arguments: Sequence[str]) -> str:
    """Return an option's value, given as ``--option value`` or ``--option=value``."""
    own, _ = _split(arguments)
    for index, word in enumerate(own):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else "".join(own[index + 1 : index + 2])
    return ""


def _seconds(text: str) -> float:
    """Read a number of seconds; the program itself complains about one that cannot be read."""
    try:
        return float(text)
    except ValueError:
        return _DEFAULT_AFTER_S
