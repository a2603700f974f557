"""The commands on a part of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.gui.common.commands import Command, Takes
from mcp_progress_monitor.wording.results import PartKind

if TYPE_CHECKING:
    from mcp_progress_monitor.wording.results import ResultPart


class ShownPart(NamedTuple):
    """A part of the shown result, and the server that it is from."""

    part: ResultPart
    server: str


def _is_link(shown: ShownPart) -> bool:
    return shown.part.kind is PartKind.LINK and bool(shown.part.source)


def _can_be_opened(shown: ShownPart) -> bool:
    return bool(shown.part.opened_as)


def _can_be_copied(shown: ShownPart) -> bool:
    """Sound and other data have no form that other programs paste."""
    return shown.part.kind not in {PartKind.AUDIO, PartKind.DATA}


READ: Final = Command(
    "result.read",
    "&Read",
    "Request the linked resource from the server",
    icon="received",
    takes=Takes.CURRENT,
    applies=_is_link,
    live_only=True,
)
OPEN: Final = Command(
    "result.open",
    "&Open",
    "Open a copy in the default program; text opens as plain text",
    icon="open",
    takes=Takes.CURRENT,
    applies=_can_be_opened,
)
COPY: Final = Command(
    "result.copy",
    "&Copy",
    "Copy this part of the result",
    icon="copy",
    takes=Takes.CURRENT,
    applies=_can_be_copied,
)
SAVE: Final = Command(
    "result.save",
    "&Save…",
    "Save this part of the result as a file",
    icon="save",
    takes=Takes.CURRENT,
)
RESULT_COMMANDS: Final = (READ, OPEN, COPY, SAVE)
