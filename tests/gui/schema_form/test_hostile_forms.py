"""Forms for hostile schemas: the window goes on while they are made, filled in and checked."""

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.questions.bodies import ElicitationBody, defaults_of
from mcp_progress_monitor.gui.schema_form.field import MOST_FIELDS
from mcp_progress_monitor.gui.schema_form.form import SchemaForm
from mcp_progress_monitor.gui.schema_form.schema import UNSET, Schema
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.questions import Accept
from tests.hostile_schemas import Hostile, hostile_schemas
from tests.question_stand_ins import form as question_of

_AT_MOST_S = 0.1
_SLOWER = 10
"""How much slower a machine may be than the one that the limit is for."""
_FEW = ("pattern 4", "variant 5", "100 patterns", "100 fields", "20000 fields", "90 enums")
_AND = ("oneOf of 1000", "allOf doubled 40 times", "members like the whole", "12 to the 4")


@pytest.fixture
def form(qtbot: QtBot, appearance: Appearance) -> SchemaForm:
    made = SchemaForm(appearance)
    qtbot.addWidget(made)
    made.resize(700, 600)
    made.show()
    made.set_schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "a"}}})
    made.check()
    return made


def _turns(form: SchemaForm, schema: Schema, value: object) -> Iterator[float]:
    """Make, show and check a form: the processor time of each turn of the event loop."""
    begun = time.thread_time()
    form.set_schema(schema, value)
    yield time.thread_time() - begun
    for _ in range(1_000):
        was_finished = form.is_finished
        begun = time.thread_time()
        QCoreApplication.sendPostedEvents()
        QCoreApplication.processEvents()
        yield time.thread_time() - begun
        if was_finished:
            break
    begun = time.thread_time()
    form.check()
    yield time.thread_time() - begun
    begun = time.thread_time()
    QCoreApplication.processEvents()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    yield time.thread_time() - begun


def _slow(form: SchemaForm, hostile: list[Hostile], limit_s: float) -> dict[str, int]:
    """The schemas whose form holds the window for longer than that, with the milliseconds."""
    found = {}
    for each in hostile:
        for value in (UNSET, defaults_of(each.schema) or UNSET):
            longest = max(_turns(form, each.schema, value))
            if longest > limit_s:
                found[each.name] = round(longest * 1000)
    return found


@pytest.mark.timeout(120)
def test_some_hostile_schemas_hold_no_window(form: SchemaForm) -> None:
    some = [each for each in hostile_schemas() if each.name in (*_FEW, *_AND)]
    assert len(some) == len(_FEW) + len(_AND)
    assert _slow(form, some, _AT_MOST_S * _SLOWER) == {}


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_no_hostile_schema_holds_the_window_for_a_tenth_of_a_second(form: SchemaForm) -> None:
    assert _slow(form, hostile_schemas(), _AT_MOST_S) == {}


def _fields(count: int, **more: object) -> Schema:
    return {
        "type": "object",
        "properties": {f"f{n}": {"type": "string", **more} for n in range(count)},
    }


def _shown(widget: QWidget) -> str:
    labels = [label for label in widget.findChildren(QLabel) if not label.isHidden()]
    return "\n".join(label.text() for label in labels)


def test_a_form_is_made_in_pieces_and_complete_when_it_is_asked(form: SchemaForm) -> None:
    form.set_schema(_fields(60, default="d"), {f"f{n}": str(n) for n in range(60)})
    assert not form.is_finished
    assert len(form.findChildren(QLineEdit)) < 60
    value = form.value()
    assert value == {f"f{n}": str(n) for n in range(60)}
    assert len(form.findChildren(QLineEdit)) == 60
    assert form.editor.value() == value


def test_more_fields_than_people_fill_in_are_entered_as_json(form: SchemaForm) -> None:
    form.set_schema(_fields(81))
    assert "The schema has 81 fields, too many for a form: enter the values as JSON." in _shown(
        form
    )
    assert form.findChildren(QLineEdit) == []
    form.show_json(is_shown=False)
    assert not form.editor.isHidden()
    form.set_value({"f1": "x"})
    assert form.value() == {"f1": "x"}
    form.set_value({"f1": 1})
    assert [violation.path for violation in form.check()] == [("f1",)]
    assert 'f1: 1 is not of type "string"' in _shown(form)


def test_nested_fields_end_somewhere(form: SchemaForm) -> None:
    inner = _fields(90)
    names = [f"p{n}" for n in range(90)]
    form.set_schema(
        {"type": "object", "properties": dict.fromkeys(names, inner), "required": names}
    )
    form.value()
    assert len(form.findChildren(QLineEdit)) <= MOST_FIELDS


def test_what_could_not_be_checked_is_reported_beside_the_form(form: SchemaForm) -> None:
    field = {"type": "string", "pattern": "(?=x)(x+x+)+y"}
    form.set_schema({"type": "object", "properties": {"a": field}}, {"a": "x" * 1_500})
    assert form.check() == []
    assert "Not checked: matching a pattern took too long." in _shown(form)
    form.set_value({"a": "y"})
    assert [violation.path for violation in form.check()] == [("a",)]
    assert "Not checked" not in _shown(form)


def test_a_large_question_is_answered_as_json(qtbot: QtBot, appearance: Appearance) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    schema = _fields(20_000, default="v")
    body = ElicitationBody(question_of(schema=schema), appearance, holder)
    assert body.form is not None
    body.form.set_value({"f1": "mine"})
    assert body.accepted() == Accept({"f1": "mine"})


def test_many_violations_are_shown_with_one_layout(form: SchemaForm) -> None:
    """Each label that was shown had laid out the whole form: seconds for these."""
    schema = _fields(MOST_FIELDS)
    form.set_schema({**schema, "required": [*schema["properties"]]})
    form.value()
    QCoreApplication.processEvents()
    begun = time.thread_time()
    assert len(form.check()) == MOST_FIELDS
    assert time.thread_time() - begun < _AT_MOST_S * _SLOWER


def test_a_violation_that_is_shown_leaves_its_field_as_high_as_it_was(form: SchemaForm) -> None:
    form.set_schema({**_fields(2), "required": ["f0"]})
    QCoreApplication.processEvents()
    (line, other) = form.findChildren(QLineEdit)
    height = other.height()
    assert len(form.check()) == 1
    for _ in range(3):
        QCoreApplication.processEvents()
    assert min(line.height(), other.height()) >= height
