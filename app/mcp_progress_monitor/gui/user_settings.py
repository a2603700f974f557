"""The user's settings: the one place where a setting is declared.

A setting is a row of a section; the dialog, the saved file and `docs/reference/settings.md` follow.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.audit.settings import ASKS
from mcp_progress_monitor.audit.settings import FILE_NAME as AGENTS_FILE
from mcp_progress_monitor.engine.call import AutoResume
from mcp_progress_monitor.gui.setting_rows import (
    Button,
    ByServer,
    Choice,
    Flag,
    Group,
    Line,
    Number,
    Seconds,
    Section,
    Setting,
    TimeOfDay,
)
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.snapshots.limits import DEFAULT_LIMITS, DefaultLimits

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.preferences import Preferences

S = TypeVar("S", bound=Section)
T = TypeVar("T")


class GeneralSettings(Section, key="general", title="General", icon="settings", is_live=True):
    """Automatic behaviour, what the desktop shows, and the file association."""

    opens_page = Flag(
        "&Show what a server offers when it connects and there are no jobs",
        "Show the tools, resources and prompts of a server that was just connected",
        heading="Servers",
    )
    shows_counts = Flag(
        "&Counts in the window title",
        "Show counts such as “3 running, 1 needs you”",
        heading="Desktop",
        saved=("settings/notifications", "shows_counts"),
    )
    shows_tray = Flag(
        "&Tray icon",
        "Show the state of all jobs in the system tray, if there is one",
        saved=("settings/notifications", "shows_tray"),
    )
    shows_task_bar = Flag(
        "&Progress and badge in the task bar",
        "Show progress on the task bar or dock, if the system supports it",
        saved=("settings/notifications", "shows_task_bar"),
    )
    keeps_awake = Flag(
        "&Keep the computer awake while jobs run",
        "Keep an idle computer awake; closing the lid or Suspend still puts it to sleep",
        saved=("settings/notifications", "keeps_awake"),
    )
    associate = Button(
        "&File association…",
        "Open recording files with this program",
        heading="Files",
        note="Choose whether a double click on a recording opens it in this program.",
    )


class AppearanceSettings(Section, key="appearance", title="Appearance", icon="image"):
    """Theme and text size."""

    scheme = Choice(
        "Theme",
        "Set the colours of the window",
        "system",
        choices={
            "system": "S&ystem default",
            "light": "&Light",
            "dark": "&Dark",
            "contrast": "High &contrast",
        },
        are_buttons=True,
        heading="Theme",
        saved=("appearance", "scheme"),
    )
    percent = Choice(
        "Text &size",
        "Set the size of all text, relative to the system's",
        100,
        choices={each: f"{each} %" for each in (80, 90, 100, 110, 125, 150, 175, 200)},
        heading="Text",
        after="Some columns change their width only after a restart.",
        saved=("text-size", "percent"),
    )


class LimitSettings(Section, key="limits", title="Limits", icon="state-timed-out", is_live=True):
    """The default limits of calls, and of automatic resuming."""

    tool_idle_s = Seconds(
        "&Idle timeout of tool calls",
        "End a tool call after this long without progress",
        DEFAULT_LIMITS.tool_idle_s,
        heading="Calls",
        note="Limits of a call or its server take precedence. Enter a time such as 90 s or 30 min,"
        " or 0 for no limit.",
    )
    other_idle_s = Seconds(
        "Idle timeout of &other calls",
        "End other calls after this long without a message",
        DEFAULT_LIMITS.other_idle_s,
    )
    total_s = Seconds(
        "&Total timeout",
        "End a call after this long, regardless of progress",
        DEFAULT_LIMITS.total_s,
    )
    attempts = Number(
        "Maximum &attempts",
        "Limit how many attempts a job makes automatically",
        AutoResume().limit,
        least=1,
        most=9_999,
        heading="Automatic resuming",
        saved=("jobs/automatic", "limit"),
    )

    @property
    def of_calls(self) -> DefaultLimits:
        return DefaultLimits(self.tool_idle_s, self.other_idle_s, self.total_s)


_ON: Final = Group("is_on")
_JOB: Final = Group("is_on", "When a job")
_QUIET: Final = Group("has_quiet_hours")


class NotificationSettings(
    Section, key="notifications", title="Notifications", icon="state-needs-you", is_live=True
):
    """Notifications while the window is not in front.

    Jobs shorter than `least_s` are not notified; questions always are. Quiet hours begin and end at
    a local time of day, and may span midnight.
    """

    is_on = Flag(
        "&Notify while the window is in the background",
        "Notify only while another window is in front",
        heading="Notifications",
    )
    on_needs_you = Flag(
        "needs an &answer", "Notify when a server asks a question, which stops the job", within=_JOB
    )
    on_failed = Flag(
        "&fails", "Notify when a call fails, times out or loses its connection", within=_JOB
    )
    on_stalled = Flag(
        "&stalls", "Notify when a job makes no progress for longer than usual", within=_JOB
    )
    on_slow = Flag(
        "takes longer than &usual",
        "Notify when a call takes longer than 19 of 20 calls of its tool",
        False,
        within=_JOB,
    )
    on_resumable = Flag(
        "can be &resumed", "Notify when a call stops and its resume token is saved", within=_JOB
    )
    on_done = Flag("is &done", "Notify when a call ends with a result", within=_JOB)
    least_s = Number(
        "Only jobs that ran for at &least",
        "Skip notifications of shorter jobs, except questions",
        10,
        least=0,
        most=86_400,
        suffix=" s",
        within=_ON,
        spoken="Minimum duration in seconds",
    )
    includes_watched = Flag(
        "Include jobs of &watched clients", "Notify about jobs of watched clients", within=_ON
    )
    has_quiet_hours = Flag(
        "&Quiet hours from", "Show no notifications during these hours", False, within=_ON
    )
    quiet_from = TimeOfDay(
        "",
        "Quiet hours begin at this time of day",
        datetime.time(22),
        within=_QUIET,
        beside=True,
        spoken="Quiet hours begin",
    )
    quiet_until = TimeOfDay(
        "until",
        "Quiet hours end at this time of day",
        datetime.time(7),
        within=_QUIET,
        beside=True,
        spoken="Quiet hours end",
    )
    has_sound = Flag("Play a s&ound", "Play the desktop's notification sound", False, within=_ON)
    servers = ByServer(
        "Notifications of",
        "Choose what to be notified of",
        {},
        choices={
            "all": "All events selected above",
            "attention": "All except completed jobs",
            "none": "Nothing",
        },
        heading="Rules for servers",
        within=_ON,
        spoken="Events to be notified of, by server",
    )

    def rule(self, server: str) -> str:
        """Return what to notify of for one server; `attention` is all that needs the user."""
        return self.servers.get(server, "all")

    def is_quiet(self, now: datetime.time) -> bool:
        """True if `now`, a local time of day, is within the quiet hours."""
        if not self.has_quiet_hours:
            return False
        begin, end = self.quiet_from, self.quiet_until
        return begin <= now < end if begin <= end else now >= begin or now < end


_ASKS: Final = "Ask before this happens; “Don't ask again” turns it off"


class ConfirmationSettings(
    Section, key="confirmations", title="Confirmations", icon="help", is_live=True
):
    """Before what to ask the user; "Don't ask again" turns one off."""

    quit = Flag("&Quit while jobs are running", _ASKS, heading="Ask before you")
    disconnect = Flag("&Disconnect a server that has running jobs", _ASKS)
    restart = Flag("&Restart a server that has running jobs", _ASKS)
    disable = Flag("D&isable a server that has running jobs", _ASKS)
    sign_out = Flag("Sign &out of a server that has running jobs", _ASKS)
    remove = Flag("Re&move a server", _ASKS)
    forget = Flag("&Forget a resumable job", _ASKS)
    reissue = Flag(
        "Re-i&ssue a request, which may do its work twice",
        _ASKS,
        earlier=("questions/reissue", "is_asked"),
    )
    agents = Flag(
        "Le&t an agent act on a server",
        "Ask in the agent's client before each action of an agent (mcp --allow-actions)",
        saved=(AGENTS_FILE, ASKS),
    )
    ask_all = Button("Ask about &everything again", "Reset every “Don't ask again”", is_reset=True)


_RECORDING: Final = RecordingSettings()


class RecordingChoices(Section, key="recordings", title="Recordings", icon="log"):
    """The part of `RecordingSettings` that users choose, saved in their file and not in ours."""

    is_on = Flag(
        "&Record every session",
        "Write every message of every session to disk, including those of watched clients",
        _RECORDING.is_on,
        heading="Recordings",
    )
    keep_days = Number(
        "Keep for",
        "Delete recordings that are older",
        _RECORDING.keep_days,
        least=1,
        most=3650,
        suffix=" days",
        spoken="Days to keep recordings",
    )
    keep_bytes = Number(
        "and at most",
        "Delete the oldest recordings above this total size",
        _RECORDING.keep_bytes,
        least=1,
        most=100_000,
        unit=1_000_000_000,
        suffix=" GB",
        beside=True,
        spoken="Maximum total size",
        after="Changes take effect the next time the program starts, and with the next session of "
        "a watched client. Without recordings, watched clients are not shown: the window reads "
        "what is recorded.",
    )
    manage = Button("&Manage recordings…", "Open, show and delete recordings")


_SENDS: Final = Group("is_on")


class TelemetrySettings(Section, key="telemetry", title="Telemetry", icon="sent", is_live=True):
    """Telemetry for an OpenTelemetry collector, and where traces are shown."""

    is_on = Flag(
        "&Send telemetry",
        "Send jobs, messages and findings as OpenTelemetry signals while they happen",
        False,
        heading="OpenTelemetry",
        note="Needs the extra otel. Secrets are redacted, and arguments and results are not sent.",
    )
    endpoint = Line(
        "&Collector",
        "Send to the collector at this address, by OTLP over HTTP",
        example="http://localhost:4318",
        within=_SENDS,
        after="Without an address, the OTEL_… environment variables apply.",
    )
    has_job_gauges = Flag(
        "&Metrics for each running job",
        "Send progress, silence and time left of each running job, which makes many time series",
        False,
        within=_SENDS,
    )
    trace_url = Line(
        "&Address of a trace",
        "Open traces at this address, with {trace_id} and {span_id} in it",
        example="https://grafana.example/explore?trace={trace_id}",
        heading="Traces",
    )


_REMEMBERS: Final = "Remember this for the next start"


class PrivacySettings(Section, key="privacy", title="Privacy", icon="watched"):
    """Memory of this program about the user, and buttons to forget it."""

    show_folder = Button(
        "&Show folder",
        "Open the data folder",
        heading="Data on this computer",
        note="Nothing is sent anywhere except to the servers that you connect or sign in to, "
        "and to your collector if you turn on telemetry. "
        "Recordings contain the messages of servers and clients, but no HTTP credentials.\n"
        "{folder}",
    )
    arguments = Flag(
        "&Arguments of calls, by server and tool", _REMEMBERS, heading="Remembered between starts"
    )
    forget_arguments = Button("Forget", "Forget arguments of calls", beside=True, is_once=True)
    recordings = Flag("&Recently opened recordings", _REMEMBERS)
    forget_recordings = Button(
        "Forget", "Forget recently opened recordings", beside=True, is_once=True
    )
    palette = Flag("&Command palette history", _REMEMBERS)
    forget_palette = Button(
        "Forget", "Forget the history of the command palette", beside=True, is_once=True
    )


SECTIONS: Final[tuple[type[Section], ...]] = (
    GeneralSettings,
    AppearanceSettings,
    LimitSettings,
    NotificationSettings,
    ConfirmationSettings,
    RecordingChoices,
    TelemetrySettings,
    PrivacySettings,
)
"""All sections, in the order of their pages."""


class UserSettings(QObject):
    """Holds the values of all sections but the recordings', and saves each change."""

    changed = Signal(object)  # the `Section` with its new values

    def __init__(self, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._known: dict[type[Section], Any] = {}

    def of(self, section: type[S]) -> S:
        if section not in self._known:
            rows = section.settings().items()
            self._known[section] = section(
                **{name: each.kept(self._preferences.json_of) for name, each in rows}
            )
        known: S = self._known[section]
        return known

    @property
    def notifications(self) -> NotificationSettings:
        return self.of(NotificationSettings)

    @Slot(object)
    def replace(self, values: Section) -> None:
        """Save the settings whose values differ, and announce them."""
        old = self.of(type(values)).as_dict()
        differing = {name: each for name, each in values.as_dict().items() if each != old[name]}
        if not differing:
            return
        for name, value in differing.items():
            self._preferences.keep_setting(values.settings()[name], value)
        self._preferences.save()
        self._known[type(values)] = values
        self.changed.emit(values)

    def set(self, setting: Setting[T], value: T) -> None:
        self.replace(self.of(setting.section).changed(**{setting.name: value}))

    def is_asked(self, what: str) -> bool:
        """True if the user is asked before `what`, a setting of the confirmations."""
        return bool(self.of(ConfirmationSettings).as_dict()[what])

    def stop_asking(self, what: str) -> None:
        """Stop asking before `what`: the user checked "Don't ask again"."""
        self.set(ConfirmationSettings.settings()[what], value=False)
