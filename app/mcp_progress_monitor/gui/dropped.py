"""Reads drags onto the window: local files, or an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData

_DROPPED: Final = 10  # files that are taken at once: each recording is a window of its own
ADDRESSES: Final = ("http://", "https://")  # what dropped text begins with that is not ignored


def dropped(data: QMimeData) -> tuple[str, ...]:
    """The local files, or else the address, in a drag; empty for everything else."""
    files = tuple(url.toLocalFile() for url in data.urls() if url.isLocalFile())
    if files:
        return files[:_DROPPED]
    text = data.text().strip() if data.hasText() else ""
    is_address = text.startswith(ADDRESSES) and len(text.split()) == 1
    return (text,) if is_address else ()
