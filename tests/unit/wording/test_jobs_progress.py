"""Counts and rates in the unit of the message, rounded; the exact ones are for the tips."""

import pytest

from mcp_progress_monitor.wording import jobs as job_texts
from tests.job_stand_ins import job


@pytest.mark.parametrize(
    ("progress", "total", "message", "count", "rate"),
    [
        (39_765_000, 1_400_000_000, "39.8 of 1400 MB", "39.8 / 1,400 MB", "6.2 MB/s"),
        (39.8, 1400.0, "39.8 of 1400 MB", "39.8 / 1,400 MB", "6.2 TB/s"),
        (2_097_152, None, "2 MiB read", "2 MiB", "6.2 MB/s"),
        (512, 1024, "512 bytes", "512 / 1,024 B", "6.2 MB/s"),
        (39_765_000, 1_400_000_000, "12 of 40 MB", "39.77 M / 1.4 G", "6.2 M/s"),
        (39_765_000, 1_400_000_000, None, "39.77 M / 1.4 G", "6.2 M/s"),
        (632, 1000, "Batch 632 of 1000", "632 / 1,000", "6.2 M/s"),
    ],
)
def test_the_unit_is_the_messages_where_its_numbers_are_the_progress(
    progress: float, total: float | None, message: str | None, count: str, rate: str
) -> None:
    shown = job(progress=progress, total=total, message=message, rate=6_244_657.0)
    assert (job_texts.rounded_count(shown), job_texts.rounded_rate(shown)) == (count, rate)


def test_a_share_of_one_is_reported_by_its_percentage() -> None:
    share = job(progress=0.7166666666666667, total=1.0, fraction=0.7166666666666667, rate=0.042)
    assert (job_texts.rounded_count(share), job_texts.rounded_rate(share)) == ("", "4.2 %/s")
    assert job_texts.exact(share) == "0.7166666666666667 / 1.0 · 0.042/s"


def test_of_what_is_unknown_nothing_is_reported() -> None:
    nothing = job(progress=None, total=None, rate=None, message="12 MB")
    assert (
        job_texts.rounded_count(nothing),
        job_texts.rounded_rate(nothing),
        job_texts.exact(nothing),
    ) == ("", "", "")


def test_a_hostile_message_names_no_unit() -> None:
    for message in ("1,2,3.. MB", "9" * 400 + " MB", "." * 300 + "MB", "\u0663 MB"):
        assert job_texts.unit_of(job(progress=3, message=message)) is None
