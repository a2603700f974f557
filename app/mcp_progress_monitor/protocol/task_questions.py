"""Which questions of a task are new: told by their keys, and where those are reused by their words.

Source: the tasks extension of 2026-07-28: the keys of a task's `inputRequests` are unique for its
life, and a server may show a question until it has read the answer. So a key that comes again with
the same question is the same question; with another one it is a new question all the same, since
nobody would ever answer it otherwise, and a fault of the server's.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject


def digests(requests: JsonObject) -> dict[str, bytes]:
    """What each key asks, in a few bytes: two questions that differ have different ones."""
    return {key: digest(request) for key, request in requests.items()}


def digest(request: Any) -> bytes:
    """What one question asks; the order of its members is no matter.

    Those that nobody can write down, nested too deep or with endless numbers, count as alike.
    """
    try:
        words = json.dumps(request, sort_keys=True)
    except (RecursionError, ValueError):
        words = ""
    return hashlib.blake2b(words.encode(), digest_size=16).digest()
