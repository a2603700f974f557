"""Jobs beside each other: two runs of one tool, a run and the one before, figures by tool."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QPushButton,
    QSplitter,
    QTabWidget,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_label, set_text_colour
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.differences import DifferencesView
from mcp_progress_monitor.gui.common.layout import ScreenFit, fit_to_screen, in_column, in_row
from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.gui.jobs.history import PlainTableModel
from mcp_progress_monitor.gui.page_commands import COUNT_AGAIN
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.tracker.estimate import gains
from mcp_progress_monitor.tracker.history import AxisSpan, span
from mcp_progress_monitor.tracker.work_clock import WorkClock
from mcp_progress_monitor.wording import comparison
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QPaintEvent

    from mcp_progress_monitor.tracker.snapshot import JobDetail
    from mcp_progress_monitor.tracker.tracker import Jobs

_SIZE: Final = QSize(900, 560)
_BESIDE: Final = QSize(20, 60)
_RATES: Final = 60
_LOOKS: Final = ((Tone.ACCENT, Qt.PenStyle.SolidLine), (Tone.WARNING, Qt.PenStyle.DashLine))
"""Colour and line style of the first and the second run."""

_Line = list[tuple[float, float]]


class RunsChart(QWidget):
    """Lines of two runs over the seconds since their starts."""

    def __init__(self, title: str, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self._appearance = appearance
        self._lines: Sequence[_Line] = ()
        self._names: Sequence[str] = ()
        self.setMinimumSize(220, 110)
        self.setAccessibleName(title)

    def show_lines(self, lines: Sequence[_Line], names: Sequence[str]) -> None:
        """Draw `lines` of (seconds, value), named `names`."""
        self._lines, self._names = lines, names
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the axes, the lines, and the legend."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self._appearance.ground(Tone.TEXT, 0.0))
        if not any(self._lines):
            painter.setPen(self._appearance.colour(Tone.MUTED))
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), "No progress")
            return
        times = span([0.0, *(at for line in self._lines for at, _ in line)])
        values = span([0.0, *(value for line in self._lines for _, value in line)])
        area = self._paint_axes(painter, times, values)
        for line, (tone, style) in zip(self._lines, _LOOKS, strict=True):
            painter.setPen(QPen(self._appearance.colour(tone), 1.8, style))
            painter.drawPolyline(
                [
                    QPointF(
                        area.left() + area.width() * times.share(at),
                        area.bottom() - area.height() * values.share(value),
                    )
                    for at, value in line
                ]
            )
        self._paint_legend(painter, area)

    def _paint_axes(self, painter: QPainter, times: AxisSpan, values: AxisSpan) -> QRectF:
        metrics = self.fontMetrics()
        labels = [formatting.rounded(value) for value in values.lines(4)]
        left = max(map(metrics.horizontalAdvance, labels), default=0) + 2 * GAP
        high, low = metrics.height() + 2 * GAP, metrics.height() + GAP
        area = QRectF(self.rect()).adjusted(left, high, -GAP_L, -low)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for value, text in zip(values.lines(4), labels, strict=True):
            y = area.bottom() - area.height() * values.share(value)
            painter.setPen(self._appearance.line())
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(self._appearance.colour(Tone.MUTED))
            painter.drawText(QRectF(0, y - low / 2, left - GAP, low), right, text)
        for at in times.time_lines(max(int(area.width() / 100), 2)):
            x = area.left() + area.width() * times.share(at)
            text = formatting.duration(at) if at else "0"
            width = metrics.horizontalAdvance(text)
            place = min(x - width / 2, self.width() - width - GAP_S)
            painter.drawText(QPointF(place, self.height() - metrics.descent() - 1), text)
        return area

    def _paint_legend(self, painter: QPainter, area: QRectF) -> None:
        """The title, and the name of each line beside a sample of it."""
        metrics, x, y = self.fontMetrics(), area.left(), GAP + self.fontMetrics().ascent()
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.drawText(QPointF(x, y), self._title)
        x += metrics.horizontalAdvance(self._title) + 2 * GAP_L
        for name, (tone, style) in zip(self._names, _LOOKS, strict=True):
            painter.setPen(QPen(self._appearance.colour(tone), 1.8, style))
            middle = y - metrics.ascent() / 3
            painter.drawLine(QPointF(x, middle), QPointF(x + 3 * GAP, middle))
            painter.setPen(self._appearance.colour(Tone.MUTED))
            painter.drawText(QPointF(x + 4 * GAP, y), name)
            x += 6 * GAP + metrics.horizontalAdvance(name)


class CompareDialog(QDialog):
    """A table of the figures of two runs, above their progress and rates; beside it, their JSON."""

    def __init__(
        self,
        first: JobDetail,
        second: JobDetail,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Compare jobs")
        both = first, second
        names = comparison.names(first, second)
        self.model = PlainTableModel(("Metric", *names, "Difference"), self)
        rows = comparison.rows(first, second)
        self.model.show_rows([tuple(row) for row in rows], [])
        table = PlainTable(self.model, "Comparison", self)
        table.setFrameShape(table.Shape.StyledPanel)
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.progress = RunsChart("Progress", appearance, self)
        self.rates = RunsChart("Rate per second", appearance, self)
        lines = [_progress(each) for each in both]
        self.progress.show_lines(lines, names)
        self.rates.show_lines([_rates(line) for line in lines], names)
        charts = QSplitter(self)
        charts.addWidget(self.progress)
        charts.addWidget(self.rates)
        parts = QSplitter(Qt.Orientation.Vertical, self)
        parts.addWidget(table)
        parts.addWidget(charts)
        parts.setStretchFactor(1, 1)
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = in_column(of=self)
        pages = QTabWidget(self)
        pages.setDocumentMode(True)
        pages.setAccessibleName("Parts of the comparison")
        pages.addTab(parts, "Metrics")
        one, other = map(comparison.request_and_reply, both)
        self.text = DifferencesView(one, other, appearance, pages)
        pages.addTab(self.text, "Arguments and results")
        column.addWidget(ScreenFit(pages, _BESIDE, self), 1)
        column.addWidget(buttons)
        fit_to_screen(self, _SIZE)


class ComparisonSection(QWidget):
    """Shows how a run differs from the one before: findings, figures and the result."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[object, ...] = ()
        self.heading = ElidedLabel(self)
        set_text_colour(self.heading, appearance, Tone.MUTED)
        self.model = PlainTableModel(("Figure", "Before", "Now", "Difference"), self)
        self.text = DifferencesView("", "", appearance, self)
        parts = QSplitter(self)
        table = PlainTable(self.model, "Comparison", self)
        titles = table.horizontalHeader()
        titles.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        titles.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        parts.addWidget(table)
        parts.addWidget(self.text)
        about = in_row((self.heading, 1), margins=(GAP, GAP_S, GAP, GAP_S))
        in_column(about, (parts, 1), of=self, margins=0, spacing=0)

    def show_runs(
        self,
        before: JobDetail,
        detail: JobDetail,
        findings: tuple[Mapping[str, int], Mapping[str, int]],
    ) -> None:
        """Compare two runs, and `findings` of both, counted by text."""
        shown = before.snapshot.id, detail.snapshot.id, *findings
        if shown == self._shown:
            return  # both are over
        self._shown = shown
        when = job_texts.moment(before.snapshot.started_when)
        self.heading.set_text(f"Compared with the run before, at {when}")
        rows = (*comparison.findings(*findings), *comparison.changes(before, detail))
        self.model.show_rows([tuple(row) for row in rows], [])
        one, other = map(comparison.request_and_reply, (before, detail))
        self.text.show_texts(one, other, around=1)


class StatisticsDialog(QDialog):
    """Shows how often each tool was called, how often it failed, and how long it took."""

    calls_wanted = Signal(str)
    """The words that the jobs of a row are filtered by."""

    def __init__(self, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Call statistics")
        self._jobs = jobs
        self.model = PlainTableModel(comparison.STATISTICS, self, text_columns=(0, 1))
        table = PlainTable(self.model, "Calls", self)
        titles = table.horizontalHeader()
        titles.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        titles.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        table.activated.connect(self._on_activated)
        about = plain_label(
            self, "Times include only answered calls. Press Enter to show the calls of a row."
        )
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        refresh = buttons.addButton("&Refresh", QDialogButtonBox.ButtonRole.ActionRole)
        KeyAction(COUNT_AGAIN, self, refresh.click, refresh)
        refresh.clicked.connect(self.refresh)
        for button in buttons.buttons():
            if isinstance(button, QPushButton):
                button.setAutoDefault(False)  # Enter is for the table
        buttons.rejected.connect(self.reject)
        column = in_column(of=self)
        column.addWidget(about)
        column.addWidget(table, 1)
        column.addWidget(buttons)
        fit_to_screen(self, _SIZE)
        self.refresh()
        table.setFocus()

    @Slot()
    def refresh(self) -> None:
        """Count what is there now."""
        found = map(self._jobs.snapshot, self._jobs.ids())
        self.model.show_rows(comparison.statistics(job for job in found if job is not None), [])

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        call, server = (str(index.siblingAtColumn(column).data()) for column in (0, 1))
        self.calls_wanted.emit(f"{call} {server}")


def _progress(detail: JobDetail) -> _Line:
    """The progress from the start of the job, at seconds of work."""
    return [(point.at, point.last) for point in WorkClock(detail).points()]


def _rates(line: _Line) -> _Line:
    """The gain per second, in steps of equal length."""
    if len(line) < 2 or line[-1][0] <= line[0][0]:
        return []
    begin, end = line[0][0], line[-1][0]
    count = min(_RATES, len(line) - 1)
    step = (end - begin) / count
    steps = [max(gain / step, 0.0) for gain in gains(line, count)]
    ends = [(begin + place * step, begin + (place + 1) * step) for place in range(count)]
    pieces = ([(low, rate), (high, rate)] for (low, high), rate in zip(ends, steps, strict=True))
    return list(itertools.chain.from_iterable(pieces))
