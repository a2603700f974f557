"""JSON trees are made as far as they are opened."""

from typing import Any

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.common.json_model import BLOCK, JsonTreeModel
from mcp_progress_monitor.protocol.jsonrpc import Elided


def _model(value: Any) -> JsonTreeModel:
    model = JsonTreeModel()
    model.set_value(value)
    return model


def _watch(model: JsonTreeModel) -> None:
    """Walks through the model and fetches; not while it is reset, which confuses the tester."""
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)


def _rows(model: JsonTreeModel, parent: QModelIndex) -> list[tuple[str, str, str]]:
    model.fetchMore(parent)
    return [
        (
            str(model.index(row, 0, parent).data()),
            str(model.index(row, 1, parent).data()),
            str(model.index(row, 2, parent).data()),
        )
        for row in range(model.rowCount(parent))
    ]


def test_names_values_and_types_are_shown() -> None:
    model = _model(
        {"s": "a", "i": 1, "n": 1.5, "b": True, "z": None, "o": {"x": 1}, "l": [1], "e": Elided(9)}
    )
    _watch(model)
    assert _rows(model, QModelIndex()) == [
        ("s", '"a"', "string, 1"),
        ("i", "1", "integer"),
        ("n", "1.5", "number"),
        ("b", "true", "boolean"),
        ("z", "null", "null"),
        ("o", '{"x": 1}', "object, 1"),
        ("l", "[1]", "array, 1"),
        ("e", "9 B, too large for the tree: see the raw bytes", "large"),
    ]


def test_children_are_made_when_asked_for() -> None:
    model = _model({"list": [{"x": n} for n in range(BLOCK)]})
    parent = model.index(0, 0)
    assert model.hasChildren(parent)
    assert model.rowCount(parent) == 0
    assert model.canFetchMore(parent)
    model.fetchMore(parent)
    assert model.rowCount(parent) == BLOCK
    assert not model.canFetchMore(parent)
    _watch(model)
    assert _rows(model, model.index(3, 0, parent)) == [("x", "3", "integer")]


def test_many_children_are_shown_in_ranges() -> None:
    model = _model({"list": [*range(BLOCK + 5)], "names": {f"n{n}": n for n in range(BLOCK + 1)}})
    _watch(model)
    assert _rows(model, model.index(0, 0)) == [
        ("[0 … 199]", "", "200 items"),
        ("[200 … 204]", "", "5 items"),
    ]
    last = model.index(1, 0, model.index(0, 0))
    assert _rows(model, last)[-1] == ("[204]", "204", "integer")
    assert model.node(model.index(4, 0, last)).path() == "list[204]"
    assert model.node(last).path() == "list"
    assert model.node(last).content() == [200, 201, 202, 203, 204]
    names = model.index(1, 0)
    assert _rows(model, names)[1] == ("members 200 to 200", "", "1 items")
    assert model.node(model.index(1, 0, names)).content() == {"n200": 200}


def test_no_value_has_more_rows_below_it_than_can_be_made_at_once() -> None:
    model = _model([0] * (BLOCK * BLOCK + 1))
    assert model.rowCount() == 2
    assert model.node(model.index(0, 0)).count == BLOCK


@pytest.mark.parametrize("position", [0, BLOCK, BLOCK * BLOCK, 99_999])
def test_a_value_is_reached_by_its_positions(position: int) -> None:
    model = _model({"a": 1, "list": [{"n": n} for n in range(100_000)]})
    index = model.reach([1, position, 0])
    assert model.node(index).path() == f"list[{position}].n"
    assert model.node(index).value == position


def test_a_value_knows_its_path() -> None:
    model = _model({"params": {"list": [0, {"x": 1}]}})
    index = QModelIndex()
    for row in (0, 0, 1, 0):
        model.fetchMore(index)
        index = model.index(row, 0, index)
    assert model.node(index).path() == "params.list[1].x"
    assert model.node(index.parent()).path() == "params.list[1]"


def test_a_path_has_no_limit() -> None:
    value: Any = 1
    for _ in range(3_000):
        value = [value]
    model = _model(value)
    assert model.node(model.reach([0] * 3_000)).path() == "[0]" * 3_000


def test_a_lone_value_is_one_row() -> None:
    assert _rows(_model(7), QModelIndex()) == [("", "7", "integer")]


def test_names_are_made_visible() -> None:
    model = _model({"a\u202eb": 1})
    assert model.index(0, 0).data() == r"a\u202eb"
