"""A job in words."""

from __future__ import annotations

import math

import pytest

from app.models import job_texts
from app.tracker.snapshot import Failure, JobState, Mark
from tests.job_stand_ins import job, new_job


def test_one_hundred_per_cent_is_said_at_the_end_only() -> None:
    assert job_texts.percent(job(fraction=0.99999)) == "99.9 %"
    assert job_texts.percent(job(fraction=1.0)) == "100 %"


def test_an_unknown_total_shows_the_count_and_no_percentage() -> None:
    crawl = job(progress=4812, total=None, fraction=None)
    assert (job_texts.percent(crawl), job_texts.amount(crawl)) == ("", "4,812")


def test_fractions_are_shown_as_received() -> None:
    assert job_texts.count(job(progress=0.2, total=1.0)) == "0.2 / 1.0"


def test_a_job_without_ticks_says_so() -> None:
    assert job_texts.status(new_job(1, elapsed_s=45.7)) == "no tick yet · 45 s"


def test_a_silent_job_says_when_it_was_last_heard_of() -> None:
    assert job_texts.status(job(silent_s=14.2, elapsed_s=200.0)) == (
        "last tick 14 s ago · 3 min 20 s"
    )


def test_an_endless_estimate_is_no_number() -> None:
    assert job_texts.time_left(job(eta_s=math.inf)) == "∞ left"


def test_a_job_that_is_over_has_no_time_left_but_a_length_and_a_count() -> None:
    done = job(state=JobState.DONE, elapsed_s=252.4, tick_count=812)
    assert job_texts.time_left(done) == ""
    assert job_texts.status(done) == "4 min 12 s, 812 ticks"


def test_a_failure_speaks_in_the_servers_words() -> None:
    failed = job(state=JobState.FAILED, failure=Failure("server", "disk full", -32000))
    assert job_texts.message(failed) == "disk full"


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("7", "7"),
        (7, "7"),
        (0, "0"),
        (1234567, "1234567"),
        (None, "no token"),
        (True, "true"),
        ({"a": 1}, "{a: 1}"),
        ("", ""),
    ],
)
def test_tokens_are_shown_as_they_are_on_the_wire(token: object, words: str) -> None:
    assert job_texts.token(job(token=token)) == words


def test_marks_say_how_often_they_were_seen() -> None:
    marked = job(marks=(Mark("a", "went back", 3, 1), Mark("b", "above total", 1, 2)))
    assert job_texts.marks(marked) == "went back (3 x)\nabove total"
