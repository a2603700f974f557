"""What names a saved job: a number for one with a resume token, `t` and a number for a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORM = re.compile(r"(t?)([1-9][0-9]{0,17})", re.ASCII | re.IGNORECASE)


class SavedId(NamedTuple):
    """The id of a saved job; those of resume chains and of tasks are counted apart."""

    number: int
    is_task: bool = False

    def __str__(self) -> str:
        """As the user reads and types it."""
        return f"t{self.number}" if self.is_task else str(self.number)


def saved_ids(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[SavedId, ...]:
    """Read the ids that were typed; refuse what is none, in words."""
    return tuple(_read(value, ctx, param) for value in values)


def _read(value: str, ctx: click.Context, param: click.Parameter) -> SavedId:
    found = _FORM.fullmatch(value)
    if found is None:
        message = f"{value!r} is not an ID such as 3 or t3. See: resume --list"
        raise click.BadParameter(message, ctx, param)
    return SavedId(int(found[2]), bool(found[1]))
