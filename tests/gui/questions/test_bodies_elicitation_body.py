"""Forms of servers: made from the schema, or raw JSON where there is none."""

from typing import Any

import pytest
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.questions.bodies import ElicitationBody, refused_at
from mcp_progress_monitor.gui.schema_form.schema import SchemaViolation
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Question
from tests.question_stand_ins import SCHEMA, form


@pytest.fixture
def holder(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def body_of(question: Question, appearance: Appearance, holder: QWidget) -> ElicitationBody:
    return ElicitationBody(question, appearance, holder)


def test_the_values_that_the_server_suggests_are_filled_in(
    appearance: Appearance, holder: QWidget
) -> None:
    body = body_of(form(), appearance, holder)
    assert body.form is not None
    assert body.form.value() == {"colour": "r"}
    (box,) = body.findChildren(QComboBox)
    assert box.currentText() == "Red"


def test_any_of_the_listed_values_can_be_ticked(appearance: Appearance, holder: QWidget) -> None:
    body = body_of(form(), appearance, holder)
    boxes = [box for box in body.findChildren(QCheckBox) if box.accessibleName() == "tags: b"]
    boxes[0].click()
    assert body.form is not None
    assert body.form.value()["tags"] == ["b"]


def test_the_json_is_beside_the_form_when_asked_for(
    appearance: Appearance, holder: QWidget
) -> None:
    body = body_of(form(), appearance, holder)
    assert body.form is not None
    assert body.form.editor.isHidden()
    body.show_json(is_shown=True)
    assert not body.form.editor.isHidden()


@pytest.mark.parametrize(
    "schema",
    [None, {"type": "object"}, {"type": 7, "properties": {}}, {"properties": {"a": {"type": 1}}}],
)
def test_what_is_no_schema_is_answered_with_json(
    appearance: Appearance, holder: QWidget, schema: dict[str, Any] | None
) -> None:
    body = body_of(form(schema=schema), appearance, holder)
    assert body.is_json_only()
    (editor,) = body.findChildren(QPlainTextEdit)
    editor.setPlainText("[1]")
    assert body.accepted() is None
    editor.setPlainText('{"a": 1}')
    assert body.accepted() == Accept({"a": 1})
    assert body.declined() == Decline()


def test_a_form_without_fields_is_accepted_as_it_is(
    appearance: Appearance, holder: QWidget
) -> None:
    body = body_of(form(schema={"type": "object", "properties": {}}), appearance, holder)
    assert not body.is_json_only()
    assert body.accepted() == Accept({})


def test_what_was_refused_is_shown_at_its_field(appearance: Appearance, holder: QWidget) -> None:
    body = body_of(form(schema=SCHEMA), appearance, holder)
    body.show_refusal("name: not this one")
    labels = [each.text() for each in body.findChildren(QLabel)]
    assert "not this one" in labels


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("name: wrong", ("name",)),
        ("a.b[2]: wrong", ("a", "b", 2)),
        ("['odd name']: wrong", ("odd name",)),
    ],
)
def test_a_refusal_names_its_field(line: str, path: tuple[str | int, ...]) -> None:
    assert refused_at(line) == SchemaViolation(path, "wrong")


def test_a_refusal_without_a_field_is_of_the_whole() -> None:
    assert refused_at("The answer is not a JSON object") == SchemaViolation(
        (), "The answer is not a JSON object"
    )
