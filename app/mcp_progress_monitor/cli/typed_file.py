"""Text files that the user names on the command line, pipes of the shell as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.looking import expanded

if TYPE_CHECKING:
    from pathlib import Path

LARGEST: Final = 256 * 1024 * 1024
"""Bytes that are read at most: a device may have no end."""


def read_typed(path: Path) -> str:
    """The text of a file in UTF-8, a byte order mark left out.

    `OSError` when it cannot be read, `ValueError` when it is no text or larger than `LARGEST`.
    """
    with expanded(path).open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"It is larger than {text.size(LARGEST)}")
    return content.decode("utf-8-sig")
