"""A form made from a schema and the JSON beside it say the same, and lose nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.schema_form.form import SchemaForm
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "<b>Where</b>\u202e to write"},
        "rows": {"type": "integer", "minimum": 1, "default": 1_000},
        "ratio": {"type": "number"},
        "mode": {"enum": ["fast", "safe", 3], "default": "safe"},
        "dry": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "target": {"anyOf": [{"$ref": "#/$defs/Table"}, {"type": "string"}, {"type": "null"}]},
        "node": {"$ref": "#/$defs/Node"},
    },
    "required": ["path", "mode"],
    "additionalProperties": False,
    "$defs": {
        "Table": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
        "Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}},
    },
}


@pytest.fixture
def form(qtbot: QtBot) -> SchemaForm:
    """A form for `_SCHEMA`."""
    made = SchemaForm(Appearance(QGuiApplication.palette(), resource("icons")))
    qtbot.addWidget(made)
    made.set_schema(_SCHEMA)
    made.resize(700, 500)
    made.show()
    return made


def _line(form: SchemaForm, name: str) -> QLineEdit:
    lines = (each for each in form.findChildren(QLineEdit) if each.isVisibleTo(form))
    return next(each for each in lines if each.accessibleName() == name)


def _mark(form: SchemaForm, name: str) -> QCheckBox:
    return next(each for each in form.findChildren(QCheckBox) if each.text() == name)


def _button(form: SchemaForm, name: str) -> QAbstractButton:
    found = (each for each in form.findChildren(QAbstractButton))
    return next(each for each in found if name in (each.text(), each.accessibleName()))


def _json(form: SchemaForm) -> QPlainTextEdit:
    editor = form.editor.findChild(QPlainTextEdit)
    assert isinstance(editor, QPlainTextEdit)
    return editor


def _type_json(form: SchemaForm, text: str) -> None:
    _json(form).setPlainText(text)
    form.editor.apply()


def _violations(form: SchemaForm) -> list[str]:
    labels = [each for each in form.findChildren(QLabel) if each.isVisibleTo(form)]
    return [each.text() for each in labels]


def test_only_what_is_required_and_has_a_default_is_there_at_first(form: SchemaForm) -> None:
    assert form.value() == {"mode": "safe"}
    assert json.loads(form.editor.text) == {"mode": "safe"}


def test_typing_in_a_field_puts_the_member_there_and_into_the_json(form: SchemaForm) -> None:
    QTest.keyClicks(_line(form, "rows"), "25")
    assert form.value() == {"mode": "safe", "rows": 25}
    assert json.loads(form.editor.text)["rows"] == 25
    assert _mark(form, "rows").isChecked()


def test_a_member_can_be_left_out_again_and_unset_is_not_empty(form: SchemaForm) -> None:
    _mark(form, "rows").click()
    assert form.value()["rows"] == 1_000
    _mark(form, "rows").click()
    assert "rows" not in form.value()
    QTest.keyClicks(_line(form, "path"), "x")
    QTest.keyClick(_line(form, "path"), Qt.Key.Key_Backspace)
    assert form.value()["path"] == ""


def test_json_fills_the_form(form: SchemaForm) -> None:
    _type_json(form, '{"path": "a", "mode": 3, "rows": 7, "tags": ["x", "y"], "dry": true}')
    assert _line(form, "path").text() == "a"
    assert _line(form, "rows").text() == "7"
    assert _line(form, "Item 2").text() == "y"
    assert form.value() == {"path": "a", "mode": 3, "rows": 7, "tags": ["x", "y"], "dry": True}


def test_a_mistake_in_the_json_is_named_keeps_the_text_and_stops_the_form(form: SchemaForm) -> None:
    text = '{\n  "rows": 12 13\n}'
    _type_json(form, text)
    assert form.editor.mistake.startswith("line 2, column 14")
    assert form.editor.text == text
    area = form.findChild(QScrollArea)
    assert isinstance(area, QScrollArea)
    assert not area.isEnabled()
    assert [violation.message for violation in form.check()] == [form.editor.mistake]
    _type_json(form, '{"path": "x", "mode": "safe"}')
    assert area.isEnabled()
    assert form.check() == []


@pytest.mark.parametrize("text", ["[1]", "7", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_json_that_is_no_object_is_refused(form: SchemaForm, text: str) -> None:
    _type_json(form, text)
    assert form.editor.mistake


def test_integers_beyond_64_bits_stay_exact(form: SchemaForm) -> None:
    big = 2**70 + 1
    _line(form, "rows").setFocus()
    QTest.keyClicks(_line(form, "rows"), str(big))
    assert json.loads(form.editor.text)["rows"] == big
    _type_json(form, json.dumps({"mode": "safe", "rows": big * 3}))
    assert _line(form, "rows").text() == str(big * 3)


def test_what_is_no_number_stays_and_is_named_at_the_field(form: SchemaForm) -> None:
    QTest.keyClicks(_line(form, "rows"), "12a")
    assert form.value()["rows"] == "12a"
    form.check()
    assert '"12a" is not of type "integer"' in _violations(form)


def test_values_of_another_type_are_kept_as_json(form: SchemaForm) -> None:
    odd = {"path": 7, "mode": {"a": 1}, "rows": "many", "tags": {"no": "array"}}
    form.set_value(odd)
    assert form.value() == odd
    form.set_value({"path": "x", "mode": "safe"})
    assert _line(form, "path").text() == "x"


def test_members_the_schema_does_not_know_are_kept_and_named(form: SchemaForm) -> None:
    form.set_value({"path": "x", "mode": "safe", "extra": [1]})
    assert form.value()["extra"] == [1]
    assert any("extra" in violation.message for violation in form.check())


def test_what_is_missing_is_reported_only_once_it_is_insisted_on(
    form: SchemaForm, qtbot: QtBot
) -> None:
    QTest.keyClicks(_line(form, "rows"), "0")
    qtbot.waitUntil(lambda: any("minimum" in message for message in _violations(form)))
    assert "this is required" not in _violations(form)
    violations = form.check()
    assert ("path",) in [violation.path for violation in violations]
    assert "this is required" in _violations(form)


def test_items_are_added_and_removed(form: SchemaForm) -> None:
    _mark(form, "tags").click()
    add = _button(form, "Add an item to tags")
    add.click()
    add.click()
    QTest.keyClicks(_line(form, "Item 1"), "one")
    QTest.keyClicks(_line(form, "Item 2"), "two")
    _button(form, "Remove item 1").click()
    assert form.value()["tags"] == ["two"]


def test_one_of_several_schemas_is_chosen(form: SchemaForm) -> None:
    form.set_value({"path": "x", "mode": "safe", "target": "orders"})
    box = next(b for b in form.findChildren(QComboBox) if b.accessibleName() == "Kind of target")
    assert box.currentText() == "string"
    form.set_value({"path": "x", "mode": "safe", "target": None})
    assert form.value()["target"] is None
    form.set_value({"path": "x", "mode": "safe", "target": {"name": "t"}})
    assert box.currentText() == "Table"
    box.setCurrentIndex(1)
    box.activated.emit(1)
    assert form.value()["target"] == ""


def test_recursive_schemas_open_level_by_level(form: SchemaForm) -> None:
    deep: dict[str, Any] = {}
    for _ in range(30):
        deep = {"child": deep}
    form.set_value({"path": "x", "mode": "safe", "node": deep})
    assert form.value()["node"] == deep
    assert form.check() == []


def test_server_text_is_plain(form: SchemaForm) -> None:
    labels = [each for each in form.findChildren(QLabel) if "Where" in each.text()]
    assert labels
    assert all(each.textFormat() is Qt.TextFormat.PlainText for each in labels)
    assert all("\u202e" not in each.text() for each in labels)


def _controls(form: SchemaForm, name: str) -> list[QWidget]:
    """What can be used for a member: what is named after it."""
    parts = (*form.findChildren(QComboBox), *form.findChildren(QCheckBox))
    names = {each: each.accessibleName() or getattr(each, "text", str)() for each in parts}
    return [each for each in parts if each.isVisibleTo(form) and names[each] == name]


def test_an_optional_boolean_is_one_control_of_three_choices(form: SchemaForm) -> None:
    (box,) = _controls(form, "dry")
    assert isinstance(box, QComboBox)
    assert [box.itemText(row) for row in range(box.count())] == ["On", "Off", "Not set"]
    assert box.currentText() == "Not set"
    assert "dry" not in form.value()
    for row, expected in ((0, {"dry": True}), (1, {"dry": False}), (2, {})):
        box.setCurrentIndex(row)
        box.activated.emit(row)
        assert {k: v for k, v in form.value().items() if k == "dry"} == expected
    form.set_value({"path": "a", "mode": "fast", "dry": False})
    assert box.currentText() == "Off"


def test_a_boolean_that_must_be_there_is_on_or_off(form: SchemaForm) -> None:
    flags = {
        "bare": {"type": "boolean"},
        "usual": {"type": "boolean", "default": False},
        "left": {"type": "boolean", "default": True},
    }
    schema = {"type": "object", "properties": flags, "required": ["bare", "usual"]}
    form.set_schema(schema)
    ((bare,), (usual,), (left,)) = (_controls(form, name) for name in flags)
    assert isinstance(bare, QComboBox)
    assert isinstance(usual, QComboBox)
    assert isinstance(left, QComboBox)
    assert (bare.count(), bare.currentIndex(), usual.currentText()) == (2, -1, "Off")
    assert left.currentText() == "Not set (default: On)"
    assert form.value() == {"usual": False}
    assert [violation.path for violation in form.check()] == [("bare",)]


def test_the_hint_of_an_empty_field_says_that_it_is_no_value(form: SchemaForm) -> None:
    fields = {
        "rows": {"type": "integer", "default": 1_000},
        "path": {"type": "string", "examples": ["a.csv"]},
    }
    form.set_schema({"type": "object", "properties": fields})
    hints = [field.placeholderText() for field in form.findChildren(QLineEdit)]
    assert {"1000 (default)", 'for example "a.csv"'} <= set(hints)


def test_scrolling_over_a_choice_changes_nothing(form: SchemaForm) -> None:
    box = next(b for b in form.findChildren(QComboBox) if b.accessibleName() == "mode")
    form.editor.setFocus()
    wheel = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(0, -120), QPoint(0, -120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(box, wheel)
    assert box.currentText() == "safe"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "object", "properties": 7, "required": 7},
        {"properties": {"a": 7, "b": {"type": ["x", 1]}, "c": {"enum": [[1], {}]}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {f"m{n}": {"type": "string"} for n in range(150)}, "required": ["m140"]},
    ],
    ids=repr,
)
def test_odd_schemas_make_a_form_that_keeps_values(
    form: SchemaForm, schema: dict[str, Any]
) -> None:
    form.set_schema(schema, {"a": 1, "z": "x", "m149": "y"})
    assert form.value() == {"a": 1, "z": "x", "m149": "y"}


def test_every_control_is_named(form: SchemaForm) -> None:
    controls = [*form.findChildren(QLineEdit), *form.findChildren(QComboBox)]
    assert all(each.accessibleName() for each in controls if each.isVisibleTo(form))


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "child", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*_SCHEMA["properties"], "extra"]), _values, max_size=5))
@example({"rows": 0.5})
def test_whatever_is_set_is_the_value(value: dict[str, Any]) -> None:
    form = SchemaForm(Appearance(QGuiApplication.palette(), resource("icons")))
    form.set_schema(_SCHEMA, value)
    assert form.value() == value
    assert json.loads(form.editor.text) == value
    form.deleteLater()
