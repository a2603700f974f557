"""Column widths for a window narrower than the columns would like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAST: Final = 0.6  # of its wanted width, below which a column says too little


def fitted(wanted: Mapping[int, int], room: int) -> dict[int, int]:
    """The `wanted` widths, all shrunk by the same share so that they fit into `room` if they can.

    Never below six tenths: from there on the stretching column gives way.
    """
    total = sum(wanted.values())
    share = max(_LEAST, min(1.0, room / total)) if total else 1.0
    return {column: round(width * share) for column, width in wanted.items()}
