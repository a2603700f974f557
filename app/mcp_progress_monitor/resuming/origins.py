"""What a resumable job was asked for: the parameters to keep, and new tokens for doing it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.tokens import AUTO
from mcp_progress_monitor.resuming import parameters
from mcp_progress_monitor.store.chains import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.tokens import TokenChoice
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobDetail


def origin_of(job: JobDetail, server: ServerSnapshot, key: str, sent: bytes | None) -> Origin:
    """The request of a job with its server, which jobs know by `key` (see `Manager.key_of`).

    `sent` are its bytes, where they are at hand.

    The server is saved with the folder that it was started in: in another one, relative paths in
    its command would be somebody else's programs.
    """
    return Origin(
        server.name,
        key,
        server.definition.settled().model_dump_json(),
        server.revision or "",
        job.snapshot.method,
        origin_params(sent, job.params),
    )


def origin_params(sent: bytes | None, known: JsonObject) -> JsonObject:
    """A request's lasting parameters, from its bytes where they are at hand.

    Raises:
        ProblemError: what is `known` instead is only the outline of an oversized request.
    """
    if sent is not None:
        return parameters.first_sent(sent)
    if not parameters.is_whole(known):
        raise ProblemError(
            Problem(
                "The request is too large to be sent again from here",
                hint="Its bytes are in the log.",
            )
        )
    return parameters.lasting(known)


def token_like(token: object, integers: Iterator[int]) -> TokenChoice:
    """A new progress token of the same kind as `token`; none for none."""
    if token is None:
        return None
    return next(integers) if isinstance(token, int) else AUTO
