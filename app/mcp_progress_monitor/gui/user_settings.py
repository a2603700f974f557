"""The user's choices in Settings: notifications and confirmations."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.snapshots.validated import (
    InvalidValueError,
    Validated,
    entries_of,
    flag,
    integer,
    one_of,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.snapshots.validated import Check

ServerRule: TypeAlias = Literal["all", "attention", "none"]
"""For one server: all chosen events, only those that need the user, or none.

Those that need the user: failed, stalled, resumable, and questions.
"""
_LONGEST_S: Final = 86_400
_NOTIFICATIONS: Final = "settings/notifications"
_CONFIRMATIONS: Final = "settings/confirmations"
_EARLIER_REISSUE: Final = "questions/reissue"
"""Where earlier versions saved whether to ask before a request is re-issued."""

_Model = TypeVar("_Model", bound=Validated)


def _time(value: Any) -> datetime.time:
    """A time of day, as such or in ISO 8601."""
    if isinstance(value, datetime.time):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a time of day")  # noqa: TRY004  # as all that is refused
    return datetime.time.fromisoformat(value)


class NotificationSettings(Validated):
    """When and how the user is notified while the window is not in front.

    Jobs shorter than `least_s` are not notified; questions always are. Quiet hours begin and end at
    a local time of day, and may span midnight. `servers` has the rules of servers that do not
    follow the default, by name.
    """

    is_on: bool = True
    on_done: bool = True
    on_failed: bool = True
    on_stalled: bool = True
    on_resumable: bool = True
    on_needs_you: bool = True
    least_s: int = 10
    includes_watched: bool = True
    servers: Mapping[str, ServerRule] = dataclasses.field(default_factory=dict)
    has_quiet_hours: bool = False
    quiet_from: datetime.time = datetime.time(22)
    quiet_until: datetime.time = datetime.time(7)
    has_sound: bool = False
    shows_tray: bool = True
    shows_task_bar: bool = True
    """Progress and badge on the program's button in the task bar or dock."""
    shows_counts: bool = True  # counts in the window's title
    keeps_awake: bool = True  # while jobs run, an idle computer does not go to sleep

    checks: ClassVar[Mapping[str, Check]] = {
        **dict.fromkeys(
            (
                *("is_on", "on_done", "on_failed", "on_stalled", "on_resumable", "on_needs_you"),
                *("includes_watched", "has_quiet_hours", "has_sound"),
                *("shows_tray", "shows_task_bar", "shows_counts", "keeps_awake"),
            ),
            flag,
        ),
        "least_s": integer(least=0, most=_LONGEST_S),
        "servers": entries_of(text(), one_of("all", "attention", "none"), "must be an object"),
        "quiet_from": _time,
        "quiet_until": _time,
    }

    def rule(self, server: str) -> ServerRule:
        return self.servers.get(server, "all")

    def is_quiet(self, now: datetime.time) -> bool:
        """Whether `now`, a local time of day, is within the quiet hours."""
        if not self.has_quiet_hours:
            return False
        begin, end = self.quiet_from, self.quiet_until
        return begin <= now < end if begin <= end else now >= begin or now < end


class ConfirmationSettings(Validated):
    """Before what to ask the user; "Don't ask again" turns one off, Settings turns it on."""

    quit: bool = True
    disconnect: bool = True
    restart: bool = True
    disable: bool = True
    sign_out: bool = True
    remove: bool = True
    forget: bool = True
    reissue: bool = True

    checks: ClassVar[Mapping[str, Check]] = dict.fromkeys(
        ("quit", "disconnect", "restart", "disable", "sign_out", "remove", "forget", "reissue"),
        flag,
    )


class UserSettings(QObject):
    """Holds both, saved in the window's preferences; what cannot be read has its default."""

    notifications_changed = Signal()
    confirmations_changed = Signal()

    def __init__(self, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._notifications = _read(NotificationSettings, preferences.json_of(_NOTIFICATIONS))
        earlier = preferences.json_of(_EARLIER_REISSUE)
        kept = {"reissue": earlier.get("is_asked", True), **preferences.json_of(_CONFIRMATIONS)}
        self._confirmations = _read(ConfirmationSettings, kept)

    @property
    def notifications(self) -> NotificationSettings:
        return self._notifications

    @Slot(object)
    def set_notifications(self, settings: NotificationSettings) -> None:
        if settings != self._notifications:
            self._notifications = settings
            self._keep(_NOTIFICATIONS, settings)
            self.notifications_changed.emit()

    @property
    def confirmations(self) -> ConfirmationSettings:
        """Before what the user is asked."""
        return self._confirmations

    @Slot(object)
    def set_confirmations(self, settings: ConfirmationSettings) -> None:
        if settings != self._confirmations:
            self._confirmations = settings
            self._keep(_CONFIRMATIONS, settings)
            self.confirmations_changed.emit()

    def is_asked(self, what: str) -> bool:
        return bool(getattr(self._confirmations, what))

    def stop_asking(self, what: str) -> None:
        """Stop asking before `what`: the user checked "Don't ask again"."""
        self.set_confirmations(self._confirmations.model_copy(update={what: False}))

    def _keep(self, key: str, settings: Validated) -> None:
        fields = settings.model_dump(mode="json")
        for name, value in fields.items():
            if isinstance(value, datetime.time):
                fields[name] = value.isoformat()
        self._preferences.keep_json(key, fields)
        self._preferences.save()


def _read(model: type[_Model], kept: dict[str, Any]) -> _Model:
    """The settings in `kept`; fields that are invalid or unknown are left out."""
    try:
        return model.model_validate(kept)
    except InvalidValueError as error:
        bad = {each.place[0] for each in error.errors}
        return model.model_validate({name: kept[name] for name in kept.keys() - bad})
