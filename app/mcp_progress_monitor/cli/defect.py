"""The last resort: a programming error goes to a file, its place to the user in one sentence."""

from __future__ import annotations

import datetime
import platform
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_DATA_DIR = "--data-dir"
_SECRET_OPTIONS = frozenset({"--header", "--url", "--input"})
"""Options whose values may be secrets, also where no equals sign parts them from their names."""


def report_defect(error: BaseException, words: Sequence[str]) -> str:
    """Write down what is known of `error` and return the sentence that says where.

    `words` are the command line's own; what followed `--` may hold secrets and is not written.
    """
    now = datetime.datetime.now(datetime.UTC)
    name = f"defect-{now:%Y%m%dT%H%M%S}.log"
    text = _account(error, words, now)
    for folder in _folders(words):
        try:
            (folder / name).write_text(text, "utf-8", errors="backslashreplace")
        except OSError:
            continue
        return (
            "The program failed through a defect of its own;"
            f" please report it with {visible(str(folder / name))}"
        )
    return (
        "The program failed through a defect of its own, and the details could not be saved:"
        f" {visible(repr(error))}"
    )


def _account(error: BaseException, words: Sequence[str], now: datetime.datetime) -> str:
    return "\n".join(
        (
            f"{paths.APPLICATION} {__version__}, {now.isoformat(timespec='seconds')}",
            f"Python {platform.python_version()} on {platform.platform()}",
            f"Words: {_names(_own(words))!r} (values left out)",
            "".join(traceback.format_exception(error)),
        )
    )


def _names(words: Sequence[str]) -> list[str]:
    """The words as far as they can be shown."""
    before = ("", *words)
    return [
        "…" if previous in _SECRET_OPTIONS else word.partition("=")[0]
        for previous, word in zip(before, words, strict=False)
    ]


def _own(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _folders(words: Sequence[str]) -> list[Path]:
    """Where to write, best place first: the data folder, then the one for temporary files."""
    try:
        data = [paths.data_dir(_chosen_data_dir(_own(words)))]
    except ProblemError:
        data = []
    return [*data, Path(tempfile.gettempdir())]


def _chosen_data_dir(words: Sequence[str]) -> Path | None:
    """The `--data-dir` on the command line, found without click, which may be what failed."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        name, sign, value = word.partition("=")
        if name == _DATA_DIR and (value or following):
            return Path(value if sign else following)
    return None
