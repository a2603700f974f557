"""Whether anybody is there still, asked once a response was lost.

A server that is silent is not asked: over HTTP nothing is open between requests unless the server
is listened to, and the next request tells at once when nobody is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.sessions.http.failures import BrokenError, RefusedError, UnreachableError
from mcp_progress_monitor.sessions.http.wire import PROBE, Request

if TYPE_CHECKING:
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.http.site import Site

_LIMIT_S: Final = 5.0
_TRIES: Final = 2
"""A connection that was kept may end just when it is used again: that says nothing."""


async def end_unless_there(site: Site, request: int) -> None:
    """End the connection when the response to `request` was lost because the server has gone.

    Not while other responses may still come: each asks in turn, and the last one counts. A server
    that answers anything, or nothing in a short time, stays connected.
    """
    if site.revision is None or site.is_older:
        return  # what opens the connection tells by itself
    async with site.probing:
        await site.intake.passed()
        if site.failure is not None or site.others(request):
            return
        problem = await _why_not_there(site)
        if problem is not None and not site.others(request):
            site.unreachable(problem)


async def _why_not_there(site: Site) -> Problem | None:
    with anyio.move_on_after(_LIMIT_S):
        for _ in range(_TRIES):
            try:
                # No message, so that nothing comes of it; any answer will do.
                asked = Request("OPTIONS", site.url, site.headers("*/*"), PROBE)
                async with site.wire.exchange(asked):
                    return None
            except UnreachableError as error:
                return error.problem
            except RefusedError:
                return None
            except BrokenError:
                continue
    return None
