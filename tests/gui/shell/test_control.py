"""What is put on the clipboard of a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QGuiApplication

from app.shell.control import Control
from tests.job_stand_ins import answer, detail, job

if TYPE_CHECKING:
    from app.tracker.snapshot import JobDetail


class _Monitor:
    """Knows one job."""

    def detail(self, _job: int) -> JobDetail:
        result = {"content": [], "_meta": {"nextResumeToken": "hush"}}
        return detail(job(token=7), params={"name": "export"}, answer=answer(result=result))


@pytest.fixture
def control() -> Control:
    return Control(_Monitor(), None, print)  # type: ignore[arg-type]


@pytest.mark.usefixtures("qapp")
def test_a_copied_result_keeps_the_resume_token_hidden(control: Control) -> None:
    control.copy(1, "result")
    copied = json.loads(QGuiApplication.clipboard().text())
    assert copied == {"content": [], "_meta": {"nextResumeToken": "(hidden)"}}


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(("what", "words"), [("token", "7"), ("request", '"name": "export"')])
def test_token_and_request_are_copied_as_they_went_out(
    control: Control, what: str, words: str
) -> None:
    control.copy(1, what)
    assert words in QGuiApplication.clipboard().text()
