"""What of the saved servers is to be written, in which form and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class ExportWish(NamedTuple):
    """Servers by name, the key of a client's form, and a file; without one only the text."""

    names: tuple[str, ...]
    form: str
    path: Path | None = None
    with_secrets: bool = False
