"""The screen of `watch`: rows for any width, keys, details; what servers say is plain text."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from mcp_progress_monitor.cli.output.live_jobs import JobRows, JobsApp, narrow_row, wide_row
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobSnapshot, JobState
from tests.job_stand_ins import FakeJobs, answer, detail, job, new_job

pytestmark = pytest.mark.anyio


class FakeSession:
    """Jobs that a test puts there, instead of those of an engine."""

    def __init__(self) -> None:
        self.jobs = FakeJobs()
        self._listeners: list[Callable[[Update], None]] = []

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return listener  # type: ignore[return-value]  # nobody unsubscribes

    def put(self, *jobs: JobSnapshot) -> None:
        """These jobs began or changed."""
        for each in jobs:
            self.jobs.put(each)
        for listener in self._listeners:
            listener(Update(changes=ChangeSet(added=tuple(each.id for each in jobs))))


class Screen:
    """The screen as a person sees it."""

    def __init__(self, app: JobsApp, pilot: Pilot[None], session: FakeSession) -> None:
        self.app, self.pilot, self.session = app, pilot, session

    @property
    def rows(self) -> list[str]:
        """The lines of the rows that are not empty."""
        rows = self.app.query_one(JobRows)
        lines = (rows.render_line(y).text.rstrip() for y in range(rows.size.height))
        return [line for line in lines if line]

    @property
    def summary(self) -> str:
        return str(self.app.query_one("#states", Static).content)

    @property
    def details(self) -> str:
        return str(self.app.screen.query_one("#detail", Static).content)

    async def put(self, *jobs: JobSnapshot) -> None:
        """Let jobs change, and the screen take it up."""
        self.session.put(*jobs)
        await self.pilot.pause(0.4)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def screen(width: int = 80, height: int = 24) -> AsyncIterator[Screen]:
    session = FakeSession()
    app = JobsApp(session, "a test")
    async with app.run_test(size=(width, height)) as pilot:
        yield Screen(app, pilot, session)


async def test_each_job_is_a_row_with_its_server_bar_and_time_left() -> None:
    async with screen() as shown:
        assert "tap install" in str(shown.app.query_one("#empty", Static).content)
        await shown.put(job(id=1, watched_client="Claude Code"))
        (row,) = shown.rows
        assert row.startswith("export_orders")
        assert "Claude Code" in row
        assert "━━━━━━━─────" in row
        assert "63.2 %" in row
        assert "31 s left" in row
        assert shown.summary.startswith("1 running · ")
        assert not shown.app.query_one("#empty", Static).display


async def test_a_narrow_screen_has_two_lines_for_each_job() -> None:
    async with screen(36, 20) as shown:
        await shown.put(job(id=1))
        first, second = shown.rows
        assert (first.split()[0], first.split()[-2:]) == ("export_orders", ["63.2", "%"])
        assert "━" in second
        assert max(map(len, shown.rows)) <= 36


async def test_rows_are_whole_beside_the_scroll_bar() -> None:
    async with screen(20, 8) as shown:
        await shown.put(*(job(id=number) for number in range(9)))
        await shown.put(job(id=9))
        rows = shown.app.query_one(JobRows)
        assert rows.show_vertical_scrollbar
        assert not rows.show_horizontal_scrollbar
        assert shown.rows[0].endswith("63.2 %")
        assert len(shown.rows[0]) <= rows.scrollable_content_region.width < 20


@pytest.mark.parametrize("width", [1, 5, 20, 71, 72, 80, 300])
def test_a_row_is_made_for_any_width(width: int) -> None:
    for state in JobState:
        each = job(state=state, ended_at=152.0 if state.is_over else None)
        assert wide_row(each, width).plain
        assert all(line.plain for line in narrow_row(each, width))


async def test_jobs_that_need_someone_come_first_and_ended_ones_last() -> None:
    async with screen() as shown:
        await shown.put(
            job(id=1, name="over", state=JobState.DONE, ended_at=152.0),
            job(id=2, name="goes_on"),
            job(id=3, name="waits", state=JobState.NEEDS_YOU, questions=(4,)),
        )
        assert [row.split()[0] for row in shown.rows] == ["waits", "goes_on", "over"]
        assert "1 question" in shown.rows[0]
        assert shown.summary.startswith("1 running, 1 needs you, 1 done · running first")
        await shown.press("s")
        assert [row.split()[0] for row in shown.rows] == ["waits", "goes_on", "over"]
        await shown.press("s")
        assert [row.split()[0] for row in shown.rows] == ["goes_on", "over", "waits"]
        assert "by name" in shown.summary


async def test_a_job_moves_when_its_state_changes() -> None:
    async with screen() as shown:
        await shown.put(job(id=1, name="first"), job(id=2, name="second"))
        await shown.put(job(id=2, name="second", state=JobState.FAILED, ended_at=152.0))
        assert [row.split()[0] for row in shown.rows] == ["first", "second"]
        assert "Failed" in shown.rows[1]
        await shown.press("e")
        assert len(shown.rows) == 1
        assert "ended jobs hidden" in shown.summary


async def test_a_filter_finds_names_servers_clients_and_states() -> None:
    async with screen() as shown:
        await shown.put(
            job(id=1, name="crawl", server="web"),
            job(id=2, name="copy", watched_client="Zed", state=JobState.STALLED),
        )
        for typed, found in (("web", "crawl"), ("zed", "copy"), ("stalled", "copy")):
            await shown.press("slash", *typed)
            assert [row.split()[0] for row in shown.rows] == [found]
            await shown.press("enter", "escape")
            assert len(shown.rows) == 2


async def test_the_selected_job_stays_selected_and_its_details_go_on() -> None:
    async with screen() as shown:
        await shown.put(job(id=1, name="first"), job(id=2, name="second"))
        await shown.press("down")
        shown.session.jobs.details[1] = detail(
            job(id=1, name="first"), answer=answer({"content": [{"type": "text", "text": "two"}]})
        )
        await shown.put(new_job(3, name="third"))
        await shown.press("enter")
        assert shown.details.startswith("first: Running")
        for text in ("local-db", '"region": "eu"', "Result", '"two"'):
            assert text in shown.details
        await shown.press("escape")
        assert len(shown.rows) == 3


async def test_requests_of_servers_are_no_rows() -> None:
    async with screen() as shown:
        await shown.put(job(id=1), job(id=2, sender=Side.SERVER))
        assert len(shown.rows) == 1


@pytest.mark.parametrize(
    "hostile", ["[bold red]x[/]", "\x1b[31mx\x1b[0m", "a\nb\rc", "\u202egnp.exe", "[@click=quit]x"]
)
async def test_text_of_a_server_is_plain_text(hostile: str) -> None:
    texts: dict[str, Any] = {"name": hostile, "message": hostile, "server": hostile}
    async with screen(140) as shown:
        await shown.put(job(id=1, **texts))
        (row,) = shown.rows
        assert not {"\x1b", "\n", "\r", "\u202e"} & set(row)
        assert "[" not in hostile or "[" in row
        shown.session.jobs.details[1] = detail(job(id=1, **texts))
        await shown.press("enter")
        assert not {"\x1b", "\r", "\u202e"} & set(shown.details)


async def test_ten_thousand_jobs_are_scrolled_by_keys() -> None:
    async with screen() as shown:
        await shown.put(*(job(id=number, name=f"job_{number}") for number in range(1, 10_001)))
        assert "10,000 running" in shown.summary
        await shown.press("end")
        await shown.pilot.pause(0.3)
        assert shown.rows[-1].split()[0] == "job_1"
        await shown.press("home")
        await shown.pilot.pause(0.3)
        assert shown.rows[0].split()[0] == "job_10000"
