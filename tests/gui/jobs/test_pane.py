"""One job in full: what each section shows, and what it costs out of sight."""

from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QStyleOptionViewItem, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.commands import AUTOMATIC, CANCEL, REISSUE, REPORT, RESUME, TICKS
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.jobs.ticks import FRAME, TickColumn, TickDelegate
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import (
    ChangeSet,
    Failure,
    JobDetail,
    JobSnapshot,
    JobState,
    StreamSnapshot,
    StreamStep,
)
from mcp_progress_monitor.wording import jobs as job_texts
from tests.findings import finding, mark
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import asked, job_actions
from tests.job_stand_ins import FakeJobs, answer, course, detail, job, new_job, resumable


class CountingJobs(FakeJobs):
    """Counts how often a story was asked for."""

    reports = 0

    def detail(self, job: int) -> Any:
        self.reports += 1
        return super().detail(job)


@pytest.fixture
def source() -> CountingJobs:
    made = CountingJobs(
        job(id=1), job(id=2, state=JobState.FAILED, failure=Failure("server", "disk full", -32000))
    )
    marked = job(id=1, marks=(mark("not-increasing", "went back", 3, 41),))
    made.details[1] = detail(marked, **course(50))
    return made


@pytest.fixture
def pane(qtbot: QtBot, source: CountingJobs, appearance: Appearance) -> JobPane:
    made = JobPane(appearance, job_actions(appearance))
    made.set_source(source)
    return expose(qtbot, made, 900, 400)


def texts(pane: JobPane) -> list[str]:
    parts = (pane.header, pane.request_page)
    return [label.text() for part in parts for label in part.findChildren(QLabel)]


def corner_of(pane: JobPane) -> list[QToolButton]:
    return pane.tabs.cornerWidget().findChildren(QToolButton)


def changed(*jobs: int) -> ChangeSet:
    return ChangeSet(progressed=frozenset(jobs))


class PassingJobs(FakeJobs):
    """Each snapshot is of another moment: a second later, as far as its text tells."""

    left = 100.5

    def snapshot(self, job: int) -> JobSnapshot | None:
        found = super().snapshot(job)
        self.left -= 1
        return None if found is None else found._replace(eta_s=self.left)

    def detail(self, job: int) -> JobDetail | None:
        found, now = super().detail(job), self.snapshot(job)
        return None if found is None or now is None else found._replace(snapshot=now)


def test_the_job_pane_and_its_row_always_show_the_same(
    qtbot: QtBot, appearance: Appearance
) -> None:
    source, rows = PassingJobs(job(id=1)), JobsModel()
    rows.set_source(source)
    pane = JobPane(appearance, job_actions(appearance), rows=rows)
    qtbot.addWidget(pane)
    pane.set_source(source)
    pane.show()
    pane.show_job(1)
    reported = []
    for is_second in (False, True, False):
        if is_second:
            rows.tick([0])
        else:
            rows.apply(changed(1))
            pane.apply(changed(1))
        row = rows.snapshot(1)
        assert row is not None
        reported.append(job_texts.time_left(row))
        assert any(f" · {reported[-1]} · " in text for text in texts(pane))
    rows.tick([])  # a second, with the row out of sight
    row = rows.snapshot(1)
    assert row is not None
    assert any(f" · {job_texts.time_left(row)} · " in text for text in texts(pane))
    assert len({*reported, job_texts.time_left(row)}) == 4


def test_it_opens_without_a_job(pane: JobPane) -> None:
    assert pane.job is None
    assert not pane.tabs.isVisible()


def test_the_header_shows_everything_as_text(pane: JobPane) -> None:
    pane.show_job(1)
    shown = texts(pane)
    assert "export_orders" in shown
    assert "Running" in shown
    assert "63.2 %" in shown
    assert "632 ticks · 31 s left · 12/s · 52 s so far" in shown
    pane.tabs.setCurrentWidget(pane.request_page)
    ids = "local-db#1 · tools/call · token prog-1 · id 3 · started "
    assert any(text.startswith(ids) for text in texts(pane))


def test_a_name_that_does_not_fit_is_read_in_its_tip_as_plain_text(
    pane: JobPane, source: CountingJobs
) -> None:
    source.details[1] = detail(job(id=1, name="<b>" + "x" * 300))
    pane.show_job(1)
    tips = [label.toolTip() for label in pane.header.findChildren(QLabel)]
    assert any("&lt;b&gt;xxx" in tip for tip in tips)


def test_in_a_narrow_pane_buttons_make_room_for_the_name(pane: JobPane) -> None:
    pane.show_job(1)
    cancel = next(each for each in pane.header.findChildren(QToolButton) if each.text() == "Cancel")
    style = Qt.ToolButtonStyle
    for width, wanted in ((500, style.ToolButtonIconOnly), (900, style.ToolButtonTextBesideIcon)):
        pane.resize(width, 400)
        QApplication.processEvents()
        assert cancel.toolButtonStyle() is wanted
        assert cancel.toolTip().startswith("Cancel")


def test_a_failure_is_reported_with_the_servers_message(pane: JobPane) -> None:
    pane.show_job(2)
    assert "Server error (-32000): disk full" in texts(pane)


def test_our_own_failure_is_not_attributed_to_the_server(
    pane: JobPane, source: CountingJobs
) -> None:
    source.put(job(id=2, state=JobState.LOST, failure=Failure("local", "connection gone")))
    pane.show_job(2)
    assert "Local error: connection gone" in texts(pane)


def test_what_the_user_did_is_reported_plainly(pane: JobPane, source: CountingJobs) -> None:
    failure = Failure("local", "You disconnected the server", is_wanted=True)
    source.put(job(id=2, state=JobState.LOST, failure=failure))
    pane.show_job(2)
    assert "You disconnected the server" in texts(pane)


def test_every_label_shows_plain_text(pane: JobPane) -> None:
    labels = [label for label in pane.header.findChildren(QLabel) if label.pixmap().isNull()]
    assert len(labels) >= 6
    assert {label.textFormat() for label in labels if label.text()} <= {Qt.TextFormat.PlainText}


def test_changes_of_the_job_are_followed_and_others_are_not(
    pane: JobPane, source: CountingJobs
) -> None:
    pane.show_job(1)
    before = source.reports
    pane.apply(changed(2))
    assert source.reports == before
    source.details[1] = detail(job(id=1, fraction=0.9))
    pane.apply(changed(1))
    assert "90.0 %" in texts(pane)


def test_a_removed_job_is_shown_no_more(pane: JobPane) -> None:
    pane.show_job(1)
    pane.apply(ChangeSet(removed=(1,)))
    assert pane.job is None
    assert not pane.tabs.isVisible()


def is_ticking(pane: JobPane) -> bool:
    """Whether anything will be asked for as time passes."""
    return any(timer.isActive() for timer in pane.findChildren(QTimer))


def test_out_of_sight_nothing_is_asked_for_and_in_sight_it_catches_up(
    pane: JobPane, source: CountingJobs
) -> None:
    pane.show_job(1)
    assert is_ticking(pane)
    pane.hide()
    before = source.reports
    pane.apply(changed(1))
    assert not is_ticking(pane)
    assert source.reports == before
    pane.show()
    assert source.reports == before + 1


def test_time_passes_for_a_job_that_goes_on_only(
    qtbot: QtBot, pane: JobPane, source: CountingJobs
) -> None:
    pane.show_job(1)
    before = source.reports
    qtbot.waitUntil(lambda: source.reports > before)
    pane.show_job(2)
    assert not is_ticking(pane)


def test_the_course_shows_chart_phases_and_marks(pane: JobPane) -> None:
    pane.show_job(1)
    assert pane.history.phases.rowCount() == 3
    assert pane.history.marks.index(0, 0).data() == "went back"
    assert "500" not in pane.history.chart.accessibleDescription()
    assert pane.history.chart.accessibleDescription() == "From 0 to 490 within 52 s"


def test_a_mark_leads_to_its_frame(qtbot: QtBot, pane: JobPane) -> None:
    pane.show_job(1)
    with qtbot.waitSignal(pane.frame_followed) as signal:
        pane.history.marks_table.activated.emit(pane.history.marks.index(0, 0))
    assert signal.args == [41]


def test_ticks_lead_to_their_frames_and_follow_the_newest(
    qtbot: QtBot, pane: JobPane, source: CountingJobs
) -> None:
    pane.show_job(1)
    pane.tabs.setCurrentWidget(pane.ticks)
    table = pane.ticks.table
    assert table.indexAt(table.viewport().rect().bottomLeft()).row() in {48, 49, -1}
    source.details[1] = detail(job(id=1, tick_count=700), **course(90))
    pane.apply(changed(1))
    assert table.verticalScrollBar().value() == table.verticalScrollBar().maximum()
    table.verticalScrollBar().setValue(3)
    source.details[1] = detail(job(id=1, tick_count=730), **course(120))
    pane.apply(changed(1))
    assert table.verticalScrollBar().value() == 3
    index = pane.ticks.model.index(5, 0)
    with qtbot.waitSignal(pane.frame_followed) as signal:
        table.activated.emit(index)
    assert signal.args == [index.data(FRAME)]


def test_a_tick_that_breaks_a_rule_has_a_sign_a_text_and_a_tip(
    pane: JobPane, source: CountingJobs
) -> None:
    pane.tabs.setCurrentWidget(pane.ticks)
    pane.show_job(1)
    table = pane.ticks.table
    assert table.isColumnHidden(TickColumn.MARK)
    texts = "Progress did not increase: <b> after 5"
    marked = {60: (finding(texts),)}
    source.details[1] = detail(job(id=1), **course(50), marked=marked)
    pane.apply(changed(1))
    assert not table.isColumnHidden(TickColumn.MARK)
    delegate = table.itemDelegate()
    assert isinstance(delegate, TickDelegate)
    for row, is_signed in ((39, False), (40, True), (41, False)):
        option = QStyleOptionViewItem()
        delegate.initStyleOption(option, pane.ticks.model.index(row, TickColumn.MARK))
        assert option.icon.isNull() is not is_signed
        assert option.text == (texts if is_signed else "")
    place = table.visualRect(pane.ticks.model.index(40, TickColumn.STEP)).center()
    at = table.viewport().mapToGlobal(place)
    table.viewportEvent(QHelpEvent(QEvent.Type.ToolTip, place, at))
    tip = QToolTip.text()
    QToolTip.hideText()
    assert "did not increase: &lt;b&gt; after 5" in tip


def test_the_request_is_shown_as_json(pane: JobPane) -> None:
    pane.show_job(1)
    pane.tabs.setCurrentWidget(pane.request_page)
    model = pane.request.tree.model()
    assert [model.index(row, 0).data() for row in range(model.rowCount())] == ["name", "arguments"]


def test_a_value_of_the_request_can_be_shown_whole(pane: JobPane) -> None:
    pane.show_job(1)
    pane.tabs.setCurrentWidget(pane.request_page)
    assert not pane.request.whole.isVisible()
    pane.request.tree.value_opened.emit("x" * 5_000)
    assert pane.request.whole.isVisible()
    assert pane.request.whole.text == "x" * 5_000


def test_another_jobs_request_replaces_the_first(pane: JobPane, source: CountingJobs) -> None:
    source.put(job(id=2))
    source.details[2] = detail(job(id=2), params={"uri": "file:///a"})
    pane.tabs.setCurrentWidget(pane.request_page)
    pane.show_job(1)
    pane.show_job(2)
    assert pane.request.tree.model().index(0, 0).data() == "uri"


def test_the_result_says_why_there_is_none(pane: JobPane, source: CountingJobs) -> None:
    pane.tabs.setCurrentWidget(pane.result)
    pane.show_job(1)
    assert pane.result.note == "No reply yet."
    source.put(job(id=2, state=JobState.LOST))
    pane.show_job(2)
    assert pane.result.note == "The job ended without a reply."


def test_the_choice_of_a_part_outlives_ten_updates_a_second(
    pane: JobPane, source: CountingJobs
) -> None:
    reply = answer({"content": [{"type": "text", "text": str(n)} for n in range(3)]})
    source.details[1] = detail(job(id=1, state=JobState.DONE), answer=reply)
    pane.tabs.setCurrentWidget(pane.result)
    pane.show_job(1)
    assert pane.result.text.text == "0"
    pane.result.list.setCurrentRow(2)
    pane.apply(changed(1))
    assert pane.result.list.currentRow() == 2
    assert pane.result.text.text == "2"


def test_the_button_cancels_while_that_can_work(pane: JobPane) -> None:
    pane.show_job(1)
    cancel, reissue = (
        next(b for b in pane.findChildren(QToolButton) if b.text() == text)
        for text in ("Cancel", "Re-issue")
    )
    cancelled, reissued = asked(pane, CANCEL), asked(pane, REISSUE)
    cancel.click()
    assert cancelled == [(1,)]
    pane.show_job(2)
    assert not cancel.isVisible()
    reissue.click()
    assert reissued == [(2,)]


def test_the_result_of_a_failed_job_comes_first_and_only_of_that(pane: JobPane) -> None:
    pane.tabs.setCurrentWidget(pane.ticks)
    for number, section in ((1, pane.ticks), (2, pane.result), (1, pane.ticks)):
        pane.show_job(number)
        assert pane.tabs.currentWidget() is section
    pane.show_job(2)
    pane.tabs.setCurrentWidget(pane.attempts)
    pane.show_job(2)
    assert pane.tabs.currentWidget() is pane.attempts
    pane.show_job(1)
    assert pane.tabs.currentWidget() is pane.attempts


def test_a_resumable_job_is_resumed_and_reported_of(pane: JobPane, source: CountingJobs) -> None:
    source.put(resumable(3, attempt_count=3, resume_note="connection lost"))
    pane.show_job(3)
    shown = texts(pane)
    assert "connection lost" in shown
    assert any("632 ticks · 3 attempts · saved 0 s ago" in text for text in shown)
    resume = next(b for b in pane.header.findChildren(QToolButton) if b.text() == "Resume")
    said = asked(pane, RESUME)
    resume.click()
    assert said == [(3,)]
    pane.show_job(1)
    assert not resume.isVisible()


def test_a_job_of_an_earlier_run_has_no_id_and_names_its_server(
    pane: JobPane, source: CountingJobs
) -> None:
    source.put(resumable(3, connection="local-db#0", request_id=None))
    pane.show_job(3)
    pane.tabs.setCurrentWidget(pane.request_page)
    ids = next(text for text in texts(pane) if "tools/call" in text)
    assert ids.startswith("local-db · tools/call · token prog-1 · started")


def test_automatic_resuming_is_chosen_for_the_job(pane: JobPane, source: CountingJobs) -> None:
    source.put(resumable(3))
    pane.show_job(3)
    pane.tabs.setCurrentWidget(pane.attempts)
    said = asked(pane, AUTOMATIC)
    pane.attempts.automatic.click()
    assert said == [((3,), True)]


def test_time_passes_for_a_resumable_job(qtbot: QtBot, pane: JobPane, source: CountingJobs) -> None:
    source.put(resumable(3))
    pane.show_job(3)
    before = source.reports
    qtbot.waitUntil(lambda: source.reports > before)


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_opens_with_hostile_values(
    pane: JobPane, source: CountingJobs, state: JobState
) -> None:
    hostile = new_job(
        1,
        state=state,
        name="<img src=x>",
        token=10**5000,
        progress=10**400,
        total=-1.5,
        elapsed_s=1.0,
        failure=Failure("server", "\x00\u202e" * 99, 10**400, {}),
    )
    source.details[1] = detail(hostile, **course(3))
    pane.show_job(1)
    for section in range(pane.tabs.count()):
        pane.tabs.setCurrentIndex(section)
        assert not pane.grab().isNull()


def test_it_fits_a_small_window(pane: JobPane) -> None:
    pane.show_job(1)
    assert pane.minimumSizeHint().width() <= 620
    assert pane.minimumSizeHint().height() <= 320


def test_a_report_or_the_ticks_of_the_shown_job_can_be_saved(
    pane: JobPane, source: CountingJobs
) -> None:
    reported, saved = asked(pane, REPORT), asked(pane, TICKS)
    pane.show_job(1)
    (button,) = [b for b in corner_of(pane) if b.text() == "Save"]
    report, ticks = button.menu().actions()
    report.trigger()
    ticks.trigger()

    assert (reported, saved) == ([1], [1])
    assert button.isVisible()


def test_a_job_without_ticks_has_none_to_be_saved(pane: JobPane, source: CountingJobs) -> None:
    source.details[3] = detail(new_job(3))
    pane.show_job(3)
    (button,) = [b for b in corner_of(pane) if b.text() == "Save"]
    report, ticks = button.menu().actions()
    button.menu().aboutToShow.emit()

    assert report.isEnabled()
    assert not ticks.isEnabled()


def test_a_broken_stream_is_reported_in_the_header_and_in_the_course(
    qtbot: QtBot, source: CountingJobs, pane: JobPane
) -> None:
    step = StreamStep(True, 100.0, 41, "reset", "40", 2, 3.0)
    stream = StreamSnapshot(True, 12.0, 1, 0, step, 3.0)
    reported = job(id=1, stream=stream)
    source.details[1] = detail(reported, **course(50))._replace(stream_steps=(step,))
    pane.show_job(1)
    note = "Stream broken 12 s ago; reconnecting in 3 s from event 40, attempt 2"
    assert note in texts(pane)
    table = pane.history.stream_table
    assert table.isVisible()
    assert "broken: reset" in pane.history.stream.index(0, 0).data()
    with qtbot.waitSignal(pane.frame_followed) as followed:
        table.activated.emit(pane.history.stream.index(0, 0))
    assert followed.args == [41]


def test_in_a_low_pane_the_pages_give_way_and_the_header_stays_whole(
    qtbot: QtBot, source: CountingJobs, pane: JobPane
) -> None:
    step = StreamStep(True, 100.0, 41, "reset", "40", 2, 3.0)
    reported = job(id=1, stream=StreamSnapshot(True, 12.0, 1, 0, step, 3.0), message="Batch 3")
    source.details[1] = detail(reported, **course(50))._replace(stream_steps=(step,))
    pane.show_job(1)
    pane.setMinimumHeight(240)  # as in the window
    pane.resize(900, 240)
    buttons = [each for each in pane.header.findChildren(QToolButton) if each.isVisible()]
    assert buttons
    qtbot.waitUntil(lambda: pane.height() == 240)
    qtbot.waitUntil(
        lambda: all(each.height() >= each.minimumSizeHint().height() for each in buttons)
    )


def test_a_job_without_a_break_has_no_place_for_its_stream(pane: JobPane) -> None:
    pane.show_job(1)
    assert not pane.history.stream_table.isVisible()


@pytest.fixture
def runs(appearance: Appearance, qtbot: QtBot) -> JobPane:
    """A pane with two runs of one call, and one that still runs."""
    done: dict[str, Any] = {"state": JobState.DONE, "ended_at": 152.0}
    source = FakeJobs(job(id=1, **done), job(id=2, **done), job(id=3))
    made = JobPane(appearance, job_actions(appearance))
    made.set_source(source)
    return expose(qtbot, made, 900, 400)


def compared(pane: JobPane) -> bool:
    section = pane.comparison
    return section is not None and pane.tabs.isTabVisible(pane.tabs.indexOf(section))


def test_a_job_with_a_run_before_it_is_compared_once_it_is_over(runs: JobPane) -> None:
    runs.show_job(1)
    assert not compared(runs)
    runs.show_job(2)
    assert compared(runs)
    runs.show_job(3)
    assert not compared(runs)


def test_the_comparison_opens_as_soon_as_there_is_one(runs: JobPane) -> None:
    runs.show_job(3)
    runs.open_comparison()
    assert runs.tabs.currentWidget() is runs.history
    assert runs._source is not None  # noqa: SLF001
    runs._source.put(job(id=3, state=JobState.DONE))  # type: ignore[attr-defined]  # noqa: SLF001
    runs.apply(changed(3))
    assert runs.comparison is not None
    assert runs.tabs.currentWidget() is runs.comparison


def test_a_job_without_a_comparison_opens_at_its_progress(runs: JobPane) -> None:
    runs.show_job(2)
    runs.open_comparison()
    runs.show_job(1)
    assert runs.tabs.currentWidget() is runs.history


def test_an_empty_section_makes_room_for_the_comparison(runs: JobPane) -> None:
    questions = runs.tabs.indexOf(runs.server_requests)
    runs.show_job(1)
    assert runs.tabs.isTabVisible(questions)
    runs.show_job(2)
    assert not runs.tabs.isTabVisible(runs.tabs.indexOf(runs.server_requests))
