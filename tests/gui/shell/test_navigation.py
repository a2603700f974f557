"""What is put on the clipboard of a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from app.shell.navigation import copied
from tests.job_stand_ins import answer, detail, job

if TYPE_CHECKING:
    from app.tracker.snapshot import JobDetail


@pytest.fixture
def story() -> JobDetail:
    result = {"content": [], "_meta": {"nextResumeToken": "hush"}}
    return detail(job(token=7), params={"name": "export"}, answer=answer(result=result))


def test_a_copied_result_keeps_the_resume_token_hidden(story: JobDetail) -> None:
    found = json.loads(copied(story, "result"))
    assert found == {"content": [], "_meta": {"nextResumeToken": "(hidden)"}}


@pytest.mark.parametrize(("what", "words"), [("token", "7"), ("request", '"name": "export"')])
def test_token_and_request_are_copied_as_they_went_out(
    story: JobDetail, what: str, words: str
) -> None:
    assert words in copied(story, what)
