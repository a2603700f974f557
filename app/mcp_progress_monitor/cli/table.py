"""Rows of short texts, aligned for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 60) -> str:
    """A table with a line for each row; its last column may be as long as it is. Safe to print."""
    last = len(titles) - 1
    shown = [
        [one_line(cell, widest if place < last else 400) for place, cell in enumerate(row)]
        for row in (titles, *rows)
    ]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    lines = (
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        for row in shown
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)
