"""A pointer leads to a part of a document."""

from typing import Any

import pytest

from mcp_progress_monitor.json_pointer import part_at


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("#/a/b", 1),
        ("#/l/1", 3),
        ("#/x~1y/~0", 4),
        ("#/%22", 5),
        ("#", None),
        ("#/l/7", None),
        ("#/a/b/c", None),
    ],
)
def test_a_pointer_leads_to_its_part(pointer: str, found: object) -> None:
    root: Any = {"a": {"b": 1}, "l": [2, 3], "x/y": {"~": 4}, '"': 5}
    assert part_at(pointer, root) == (root if pointer == "#" else found)
