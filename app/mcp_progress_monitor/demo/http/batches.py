"""Queued progress that is delivered together with a reply, as one JSON array.

Servers without streams do so: each response takes along what was queued since the one before, also
when that belongs to another request.
"""

from collections.abc import Sequence

_MARK = b'"method":"notifications/progress"'


def as_batch(late: list[bytes], messages: Sequence[bytes], *, keeps_some: bool) -> list[bytes]:
    """Return what to answer with: what was `late`, and the new; the last ticks are kept back.

    A third of the ticks, at least one, is kept with `keeps_some`, for whichever reply is next.
    """
    due = [*late, *messages]
    late.clear()
    ticks = [index for index, message in enumerate(messages) if _MARK in message]
    if keeps_some and ticks:
        kept = {len(due) - len(messages) + index for index in ticks[-max(1, len(ticks) // 3) :]}
        late.extend(due[index] for index in sorted(kept))
        due = [message for index, message in enumerate(due) if index not in kept]
    return due
