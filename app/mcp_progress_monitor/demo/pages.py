"""Lists in pages."""

from mcp_progress_monitor.demo.messages import INVALID_PARAMS, JsonObject, RpcError


def page(member: str, entries: list[JsonObject], size: int, cursor: object) -> JsonObject:
    """Return the entries that `cursor` points at, and the next cursor if there are more.

    Raises:
        RpcError: We never gave out this cursor.
    """
    if not size:
        return {member: entries}
    cursors = {f"{member}-from-{start}": start for start in range(size, len(entries), size)}
    if cursor is not None and cursor not in cursors:
        raise RpcError(INVALID_PARAMS, f"Unknown cursor: {cursor}")
    start = cursors.get(str(cursor), 0)
    result: JsonObject = {member: entries[start : start + size]}
    if start + size < len(entries):
        result["nextCursor"] = f"{member}-from-{start + size}"
    return result
