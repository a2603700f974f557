"""What the command line asks of the window. Free of Qt, so that it can be read without one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from app.sessions.definitions import ServerDefinition


@dataclasses.dataclass(frozen=True, slots=True)
class WindowOptions:
    """How to open the window.

    `definitions` are the servers to connect to at once, the demo server among them when `is_demo`.
    `data_dir` exists. With `screenshot`, a picture of the window is saved there (PNG) after
    `after_s` seconds, and the program ends.
    """

    definitions: tuple[ServerDefinition, ...]
    is_demo: bool
    data_dir: Path
    log_level: str
    screenshot: Path | None
    after_s: float
