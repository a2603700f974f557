"""The screen of `watch`: one row for each job, drawn by Textual. Loaded only for a terminal."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import anyio
from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.geometry import Region, Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Input, Static

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.output.bars import STYLES
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.secrets import shown_data, without_tokens
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs

_REDRAW_S: Final = 0.25
_NARROW: Final = 72  # columns; a narrower screen gives each job two lines
_LONGEST: Final = 20_000  # characters of a request or result
_URGENCY: Final = {state: place for place, state in enumerate(JobState)}
_FIRST: Final = frozenset({JobState.NEEDS_YOU, JobState.STALLED})


def _by_urgency(jobs: Jobs, states: Mapping[JobId, JobState], job: JobId) -> tuple[int, int]:
    """Running jobs before others, of them those first that need someone; the newest first."""
    state = states[job]
    rank = 0 if state in _FIRST else 1 if not state.is_over else 2
    return rank, -job


def _by_start(jobs: Jobs, states: Mapping[JobId, JobState], job: JobId) -> int:
    return -job


def _by_name(jobs: Jobs, states: Mapping[JobId, JobState], job: JobId) -> tuple[str, int]:
    snapshot = jobs.snapshot(job)
    return "" if snapshot is None else job_texts.name(snapshot).casefold(), -job


def _by_state(jobs: Jobs, states: Mapping[JobId, JobState], job: JobId) -> tuple[int, int]:
    return _URGENCY[states[job]], -job


_ORDERS: Final = {
    "running first": _by_urgency,
    "newest first": _by_start,
    "by name": _by_name,
    "by state": _by_state,
}


class Session(Protocol):
    """The session whose jobs are shown: an engine that follows taps, or a recording."""

    @property
    def jobs(self) -> Jobs: ...

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]: ...


class JobRows(ScrollView, can_focus=True):
    """The rows of the jobs; only visible ones are made, and only changed ones are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("home,g", "move(-1000000000)", "First", show=False),
        Binding("end,G", "move(1000000000)", "Last", show=False),
    ]

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self._source = jobs
        self._shown: list[JobId] = []
        self._drawn: dict[int, Strip] = {}
        self.current: JobId | None = None

    def set_jobs(self, jobs: list[JobId]) -> None:
        """Show these jobs, in this order; the selected one stays selected."""
        if jobs != self._shown:
            self._shown = jobs
            self._measure()
        if self.current not in jobs:
            self.current = jobs[0] if jobs else None

    def draw_changed(self) -> None:
        """Draw the visible lines that look different."""
        lines = len(self._shown) * self._height - self.scroll_offset.y
        for y in range(min(self.size.height, lines)):
            line = self._line(y)
            if line != self._drawn.get(y):
                self._drawn[y] = line
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        if y not in self._drawn:
            self._drawn[y] = self._line(y)
        return self._drawn[y]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make the lines again: others are visible."""
        self._drawn.clear()
        super().watch_scroll_y(old_value, new_value)

    def action_move(self, rows: int) -> None:
        """Select the job that many rows below."""
        if not self._shown:
            return
        now = self._shown.index(self.current) if self.current in self._shown else 0
        row = min(max(now + rows, 0), len(self._shown) - 1)
        self.current = self._shown[row]
        top = row * self._height
        self.scroll_to_region(Region(0, top, 1, self._height), animate=False)
        self.draw_changed()

    def action_move_page(self, pages: int) -> None:
        """Select the job that many screens below."""
        self.action_move(pages * max(self.size.height // self._height, 1))

    def on_resize(self) -> None:
        """Divide the new width."""
        self._measure()

    @property
    def _height(self) -> int:
        """The lines of a row."""
        return 1 if self.size.width >= _NARROW else 2

    def _measure(self) -> None:
        self._drawn.clear()
        self.virtual_size = Size(1, len(self._shown) * self._height)  # never scrolls sideways
        self.refresh()

    def _line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row, line = divmod(y + self.scroll_offset.y, self._height)
        job = self._source.snapshot(self._shown[row]) if row < len(self._shown) else None
        if job is None:
            return Strip.blank(width)
        text = wide_row(job, width) if self._height == 1 else narrow_row(job, width)[line]
        if job.id == self.current:
            text.stylize("reverse")
        text.truncate(width, overflow="ellipsis", pad=True)
        return Strip(text.render(self.app.console), width)


def wide_row(job: JobSnapshot, width: int) -> Text:
    """A job on one line."""
    return Text.assemble(
        _cell(job_texts.name(job), width * 24 // 100),
        _cell(_server(job), width * 19 // 100, "dim"),
        _bar(job, 12),
        " ",
        _cell(job_texts.amount(job), max(width * 12 // 100, 10)),
        *_standing(job),
        (f"  {job_texts.message(job)}", "dim"),
    )


def narrow_row(job: JobSnapshot, width: int) -> tuple[Text, Text]:
    """A job on two lines."""
    amount = job_texts.amount(job)
    names = Text.assemble(job_texts.name(job), " ", (_server(job), "dim"), overflow="ellipsis")
    names.truncate(max(width - len(amount) - 1, 8), overflow="ellipsis", pad=True)
    return Text.assemble(names, " ", amount), Text.assemble(
        "  ", _bar(job, min(12, width // 4)), " ", *_standing(job)
    )


def _server(job: JobSnapshot) -> str:
    """The server, and the client that called it unless that was this program."""
    client = "" if job.watched_client is None else job_texts.line(job.watched_client)
    return " · ".join(filter(None, (client, job_texts.server(job))))


def _cell(text: str, width: int, style: str = "") -> Text:
    cell = Text(text, style)
    cell.truncate(width - 1, overflow="ellipsis", pad=True)
    return cell.append(" ")


def _bar(job: JobSnapshot, width: int) -> Text:
    """The known share; dots if it is unknown."""
    style = STYLES.get(job.state, "cyan")
    share = job.fraction if job.fraction is not None else float(job.state is JobState.DONE)
    if job.fraction is None and not job.state.is_over:
        return Text("·" * width, style)
    done = int(share * width)
    return Text.assemble(("━" * done, style), ("─" * (width - done), "dim"))


def _standing(job: JobSnapshot) -> Iterator[tuple[str, str]]:
    """Time left or state, findings, and the rate, each with its style."""
    yield f"{job_texts.headline(job)}  ", STYLES.get(job.state, "bold")
    if job.marks:
        yield f"{formatting.count(len(job.marks), 'finding')}  ", "yellow"
    yield job_texts.status(job), ""


def details(detail: JobDetail) -> Iterator[str]:
    """All that is known of a job, line by line; the server's text is plain text."""
    job = detail.snapshot
    yield f"{job_texts.name(job)}: {job_texts.full_state(job)}"
    yield f"{job_texts.progress(job)}  {job_texts.status(job)}".strip()
    yield ""
    client = "" if job.watched_client is None else f", called by {one_line(job.watched_client)}"
    yield f"Server   {one_line(job.server)}{client}"
    yield f"Request  {one_line(job.method)}, id {job_texts.wire(job.request_id)}"
    yield f"Token    {job_texts.token(job)}"
    yield f"Started  {job_texts.moment(job.started_when)}"
    yield f"Ticks    {job_texts.ticks(job) or 'none'}"
    if job.attempt_count > 1:
        yield f"Attempts {formatting.number(job.attempt_count)}"
    yield from _section("Findings", job_texts.marks(job).splitlines())
    phases = [f"{one_line(each.message, 200)} ({each.tick_count})" for each in detail.phases]
    yield from _section("Phases", phases)
    asked = [formatting.summary(each.params, 400) for each in detail.server_requests]
    yield from _section("Questions", asked)
    yield from _section("Request", _pretty(detail.params))
    answer = detail.answer
    if answer is not None:
        body = answer.error if answer.result is None else answer.result
        title = "Result" if answer.error is None else "Error"
        yield from _section(title, _pretty(without_tokens(body or {})))
    elif job.failure is not None:
        yield from _section("Error", [one_line(job.failure.message, 2_000)])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield ""
        yield title
        yield from (f"  {line}" for line in found)


def _pretty(value: object) -> list[str]:
    text = json.dumps(shown_data(value), indent=2, ensure_ascii=False, default=str)
    shown = visible(text[:_LONGEST], keep_line_ends=True).split("\n")
    left = len(text) - _LONGEST
    return [*shown, f"… {formatting.count(left, 'more character')}"] if left > 0 else shown


class JobScreen(ModalScreen[None]):
    """The details of one job, as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "dismiss", "Back")]
    CSS = "JobScreen { background: $background; } JobScreen Static { width: 1fr; }"

    def __init__(self, jobs: Jobs, job: JobId) -> None:
        super().__init__()
        self._source = jobs
        self._job = job
        self._text = ""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="detail", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Show the job now, and how it goes on."""
        self._show()
        self.set_interval(_REDRAW_S * 2, self._show)

    def _show(self) -> None:
        detail = self._source.detail(self._job)
        text = "This job was removed." if detail is None else "\n".join(details(detail))
        if text != self._text:
            self._text = text
            self.query_one("#detail", Static).update(Text(text))


class JobsApp(App[None]):
    """The screen: how many jobs are in which state, the rows, a filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("enter", "open", "Details"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("s", "sort", "Sort"),
        Binding("e", "hide_ended", "Hide ended"),
        Binding("escape", "clear_filter", "Clear filter", show=False),
    ]
    CSS = """
    #states { height: 1; text-style: bold; }
    #empty { height: auto; }
    Input { height: 1; border: none; padding: 0; display: none; }
    Input.open { display: block; }
    """
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session, about: str) -> None:
        """`about` says what is watched."""
        super().__init__(ansi_color=True)
        self._about = about
        self._source = session.jobs
        self._states: dict[JobId, JobState] = {}
        self._texts: dict[JobId, str] = {}
        self._changed: set[JobId] = set()
        self._has_news = True
        self._order = next(iter(_ORDERS))
        self._hides_ended = False
        self._rows = JobRows(self._source)
        self._top = Static(id="states", markup=False)
        self._empty = Static(id="empty", markup=False)
        self._filter = Input(placeholder="Name, server or state", compact=True)
        session.subscribe(self._take)

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._empty
        yield self._rows
        yield self._filter
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Draw a few times a second: times and rates change without any message."""
        self._rows.focus()
        self._draw()
        self.set_interval(_REDRAW_S, self._draw)

    def action_open(self) -> None:
        """Show the details of the selected job."""
        if self._rows.current is not None:
            self.push_screen(JobScreen(self._source, self._rows.current))

    def action_filter(self) -> None:
        """Enter a filter."""
        self._filter.add_class("open")
        self._filter.focus()

    def action_clear_filter(self) -> None:
        """Show all jobs again."""
        self._filter.value = ""
        self._filter.remove_class("open")
        self._rows.focus()

    def action_sort(self) -> None:
        """Sort in the next way."""
        names = list(_ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self._has_news = True
        self._draw()

    def action_hide_ended(self) -> None:
        """Show running jobs alone, or all."""
        self._hides_ended = not self._hides_ended
        self._has_news = True
        self._draw()

    def on_input_changed(self) -> None:
        """Filter while the user types."""
        self._has_news = True
        self._draw()

    def on_input_submitted(self) -> None:
        """Return to the rows; an empty filter is closed."""
        if not self._filter.value:
            self._filter.remove_class("open")
        self._rows.focus()

    def _take(self, update: Update) -> None:
        changes = update.changes
        self._changed.update(changes.added, changes.progressed, changes.moved)
        for job in changes.removed:
            self._changed.discard(job)
            self._states.pop(job, None)
            self._texts.pop(job, None)
            self._has_news = True

    def _draw(self) -> None:
        """Take up what changed since the last time."""
        changed, self._changed = self._changed, set()
        for job in changed:
            snapshot = self._source.snapshot(job)
            if snapshot is None or snapshot.sender is not Side.CLIENT:
                continue
            if self._states.get(job) is not snapshot.state:
                self._states[job] = snapshot.state
                self._has_news = True
            if job not in self._texts:
                name, server = job_texts.name(snapshot), job_texts.server(snapshot)
                self._texts[job] = f"{name} {server} {snapshot.watched_client or ''}".casefold()
        if self._has_news:
            self._has_news = False
            self._rows.set_jobs(self._chosen())
            self._top.update(Text(self._summary(), overflow="ellipsis", no_wrap=True))
            self._empty.update(Text(self._nothing()))
            self._empty.display = not self._states
        self._rows.draw_changed()

    def _chosen(self) -> list[JobId]:
        words = self._filter.value.casefold().split()
        key: Callable[..., object] = _ORDERS[self._order]
        found = [
            job
            for job, state in self._states.items()
            if not (self._hides_ended and state.is_over)
            and all(word in f"{self._texts[job]} {state.value.casefold()}" for word in words)
        ]
        return sorted(found, key=lambda job: key(self._source, self._states, job))  # type: ignore[arg-type,return-value]

    def _summary(self) -> str:
        counts = Counter(self._states.values())
        parts = [f"{counts[each]:,} {each.value.lower()}" for each in JobState if counts[each]]
        about = [", ".join(parts) or "No jobs", self._order]
        about += ["ended jobs hidden"] if self._hides_ended else []
        return " · ".join((*about, one_line(self._about)))

    def _nothing(self) -> str:
        return (
            "Jobs are shown as soon as a client calls a server behind a tap.\n"
            "To put taps in front of a client's servers: mcp-progress-monitor tap install CLIENT"
        )


async def show_jobs(
    session: Session, about: str, read: Callable[[], Coroutine[None, None, None]]
) -> None:
    """Show the screen until the user quits; `read` fills the session, and may end before."""
    app = JobsApp(session, about)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await app.run_async()
        tasks.cancel_scope.cancel()
