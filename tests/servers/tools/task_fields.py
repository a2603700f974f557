"""What can be wrong with the fields of a task."""

from collections.abc import Callable
from typing import Final

from mcp_progress_monitor.demo.wire import JsonObject

REPEATED_ID: Final = "the-one-and-only-task"
"""The id of every task that shares it with others."""


def _with(name: str, value: object) -> Callable[[JsonObject], JsonObject]:
    """Return what sets a member, under its name in either era."""

    def distort(shape: JsonObject) -> JsonObject:
        return {**shape, _of_era(shape, name): value}

    return distort


def _without(name: str) -> Callable[[JsonObject], JsonObject]:
    def distort(shape: JsonObject) -> JsonObject:
        return {key: value for key, value in shape.items() if key != _of_era(shape, name)}

    return distort


def _of_era(shape: JsonObject, name: str) -> str:
    return f"{name}Ms" if f"{name}Ms" in shape else name


class _Restless:
    """Changes a member at every look but the first: an id, or a time that runs back."""

    def __init__(self, name: str, make: Callable[[int], str]) -> None:
        self._name = name
        self._make = make
        self._looks = 0

    def __call__(self, shape: JsonObject) -> JsonObject:
        self._looks += 1
        if self._looks == 1:
            return shape
        return {**shape, self._name: self._make(self._looks)}


def _earlier(looks: int) -> str:
    return f"{max(1970, 2025 - looks)}-01-01T00:00:00Z"


def _another_id(looks: int) -> str:
    return f"task-number-{looks}"


WRONG_FIELDS: Final[dict[str, Callable[[JsonObject], JsonObject]]] = {
    "created_text": _with("createdAt", "yesterday afternoon"),
    "created_number": _with("createdAt", 1_784_000_000),
    "created_missing": _without("createdAt"),
    "updated_back": _Restless("lastUpdatedAt", _earlier),
    "ttl_text": _with("ttl", "one minute"),
    "ttl_negative": _with("ttl", -1),
    "ttl_fraction": _with("ttl", 1_500.5),
    "ttl_missing": _without("ttl"),
    "ttl_zero": _with("ttl", 0),
    "poll_zero": _with("pollInterval", 0),
    "poll_negative": _with("pollInterval", -500),
    "poll_text": _with("pollInterval", "often"),
    "poll_huge": _with("pollInterval", 10**15),
    "id_number": _with("taskId", 42),
    "id_empty": _with("taskId", ""),
    "id_missing": _without("taskId"),
    "id_repeated": _with("taskId", REPEATED_ID),
    "id_changes": _Restless("taskId", _another_id),
    "status_missing": _without("status"),
    "status_number": _with("status", 1),
    "message_number": _with("statusMessage", 42),
}
"""What `task_wrong_fields` can send: name of the fault, and what makes a shape of a right one."""
