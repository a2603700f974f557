"""Re-issuing: a job's whole request once more, from the start, as a new job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.calls import Call
from mcp_progress_monitor.resuming.origins import origin_params, token_like
from mcp_progress_monitor.resuming.parameters import from_the_start

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.snapshot import JobDetail


async def call_anew(
    detail: JobDetail,
    origin: Origin | None,
    connect: Callable[[str], Awaitable[ServerSnapshot]],
    reach: Callable[[Origin], Awaitable[str]],
    integers: Iterator[int],
) -> Call:
    """The call that makes a job's request again; its server is connected first if need be.

    `origin` is what is saved of the job, None if nothing is. The progress token is a new one of
    the same kind, of `integers` where that is a number. `ProblemError` when the request is not at
    hand, or its server cannot be reached.
    """
    if origin is None:
        server, params = detail.snapshot.server, origin_params(None, detail.params)
        await connect(server)
    else:
        server, params = await reach(origin), origin.params
    token = token_like(detail.snapshot.token, integers)
    return Call(server, detail.snapshot.method, from_the_start(params), token)
