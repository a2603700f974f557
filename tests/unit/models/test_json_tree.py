"""JSON trees are made as far as they are opened."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtTest import QAbstractItemModelTester

from app.models.json_tree import BLOCK, JsonTreeModel
from app.protocol.jsonrpc import Elided

pytestmark = pytest.mark.usefixtures("qapp")


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
        ("e", "9 B, too large to be taken apart: see Raw", "large"),
    ]


def test_children_are_made_when_asked_for() -> None:
    model = _model({"list": [{"x": n} for n in range(BLOCK + 5)]})
    parent = model.index(0, 0)
    assert model.hasChildren(parent)
    assert model.rowCount(parent) == 0
    model.fetchMore(parent)
    assert model.rowCount(parent) == BLOCK
    assert model.canFetchMore(parent)
    model.fetchMore(parent)
    assert model.rowCount(parent) == BLOCK + 5
    assert not model.canFetchMore(parent)
    _watch(model)
    assert _rows(model, model.index(3, 0, parent)) == [("x", "3", "integer")]


def test_a_value_knows_its_path() -> None:
    model = _model({"params": {"list": [0, {"x": 1}]}})
    index = QModelIndex()
    for row in (0, 0, 1, 0):
        model.fetchMore(index)
        index = model.index(row, 0, index)
    assert model.node(index).path() == "params.list[1].x"
    assert model.node(index.parent()).path() == "params.list[1]"


def test_a_lone_value_is_one_row() -> None:
    assert _rows(_model(7), QModelIndex()) == [("", "7", "integer")]


def test_names_are_made_visible() -> None:
    assert _model({"a\u202eb": 1}).index(0, 0).data() == r"a\u202eb"
