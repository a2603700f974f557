"""The text of the file that the settings of recordings are kept in; loaded when there is one."""

from __future__ import annotations

from typing import Any

import msgspec


class _Stored(msgspec.Struct):
    """The file's content; members that are missing have their defaults, others are passed over."""

    is_on: bool = True
    keep_days: int = 30
    keep_bytes: int = 2_000_000_000
    part_bytes: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in ("keep_days", "keep_bytes", "part_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")


def members_of(content: bytes) -> dict[str, Any]:
    """The settings in a file's content, by name; `ValueError` in words when they cannot be read."""
    try:
        return msgspec.structs.asdict(msgspec.json.decode(content, type=_Stored))
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def content_of(members: dict[str, Any]) -> bytes:
    """The content of a file with these settings."""
    return msgspec.json.format(msgspec.json.encode(members), indent=2) + b"\n"
