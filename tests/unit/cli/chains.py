"""Saved jobs without a store."""

from typing import Any

from mcp_progress_monitor.store.chains import Origin, SavedChain, SavedProgress

NOW = 1_795_190_467.0
"""The wall time of tests about saved jobs."""

_PLAIN = SavedChain(
    id=3,
    origin=Origin(
        server="local-db",
        server_key="{}",
        definition="{}",
        revision="2025-11-25",
        method="tools/call",
        params={
            "name": "export_orders",
            "arguments": {"region": "eu"},
            "_meta": {"progressToken": "a"},
        },
    ),
    token="s3cret",
    is_usable=True,
    reason="",
    standing=SavedProgress(5, 20, "Chunk 5 of 20"),
    created_when=NOW - 3600.0,
    updated_when=NOW - 14.5,
    attempt_count=2,
    is_elsewhere=False,
)


def chain(**changes: Any) -> SavedChain:
    """A usable chain that stopped 14.5 s before `NOW`, with `changes` to its fields."""
    return _PLAIN._replace(**changes)


def asked(method: str, **params: Any) -> Origin:
    """Another request that a chain began with."""
    return _PLAIN.origin._replace(method=method, params=params)
