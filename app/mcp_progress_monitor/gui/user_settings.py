"""What the user chose in Settings: when to be notified, and before what to be asked."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

import pydantic
from PySide6.QtCore import QObject, Signal, Slot

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.preferences import Preferences

ServerRule: TypeAlias = Literal["all", "attention", "none"]
"""Of one server: every event that is chosen, only what needs the user, or nothing.

What needs the user: failed, stalled, resumable, and questions.
"""
_LONGEST_S: Final = 86_400
_NOTIFICATIONS: Final = "settings/notifications"
_CONFIRMATIONS: Final = "settings/confirmations"
_EARLIER_REISSUE: Final = "questions/reissue"
"""Where earlier versions kept whether to ask before a request is re-issued."""

_Model = TypeVar("_Model", bound=pydantic.BaseModel)


class NotificationSettings(pydantic.BaseModel):
    """When and how the user is notified while the window is not in front.

    Jobs that ran for less than `least_s` are not worth a notification; questions always are.
    Quiet hours begin and end at a local time of day, and may span midnight. `servers` has the rules
    of servers that do not follow the default, by name.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    is_on: bool = True
    on_done: bool = True
    on_failed: bool = True
    on_stalled: bool = True
    on_resumable: bool = True
    on_needs_you: bool = True
    least_s: Annotated[int, pydantic.Field(ge=0, le=_LONGEST_S)] = 10
    includes_watched: bool = True
    servers: dict[str, ServerRule] = {}
    has_quiet_hours: bool = False
    quiet_from: datetime.time = datetime.time(22)
    quiet_until: datetime.time = datetime.time(7)
    has_sound: bool = False
    shows_tray: bool = True
    shows_task_bar: bool = True
    """Progress and badge on the program's button in the task bar or dock."""
    shows_counts: bool = True
    """Counts in the window's title."""

    def rule(self, server: str) -> ServerRule:
        """What is wanted of one server."""
        return self.servers.get(server, "all")

    def is_quiet(self, now: datetime.time) -> bool:
        """Whether `now`, a local time of day, lies in the quiet hours."""
        if not self.has_quiet_hours:
            return False
        begin, end = self.quiet_from, self.quiet_until
        return begin <= now < end if begin <= end else now >= begin or now < end


class ConfirmationSettings(pydantic.BaseModel):
    """Before what the user is asked; "Don't ask again" turns one off, Settings turns it on."""

    model_config = pydantic.ConfigDict(frozen=True)

    quit: bool = True
    disconnect: bool = True
    restart: bool = True
    disable: bool = True
    sign_out: bool = True
    remove: bool = True
    forget: bool = True
    reissue: bool = True


class UserSettings(QObject):
    """Holds both, kept in the window's preferences; what cannot be read has its default."""

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
        """When and how the user is notified."""
        return self._notifications

    @Slot(object)
    def set_notifications(self, settings: NotificationSettings) -> None:
        """Apply `settings` now, and keep them."""
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
        """Apply `settings` now, and keep them."""
        if settings != self._confirmations:
            self._confirmations = settings
            self._keep(_CONFIRMATIONS, settings)
            self.confirmations_changed.emit()

    def is_asked(self, what: str) -> bool:
        """Whether the user is asked before `what`, a field of `ConfirmationSettings`."""
        return bool(getattr(self._confirmations, what))

    def stop_asking(self, what: str) -> None:
        """Ask no more before `what`: the user ticked "Don't ask again"."""
        self.set_confirmations(self._confirmations.model_copy(update={what: False}))

    def _keep(self, key: str, settings: pydantic.BaseModel) -> None:
        self._preferences.keep_json(key, settings.model_dump(mode="json"))
        self._preferences.save()


def _read(model: type[_Model], kept: dict[str, Any]) -> _Model:
    """The settings in `kept`; a field that cannot be read, or is not known, is left out."""
    try:
        return model.model_validate(kept)
    except pydantic.ValidationError as error:
        bad = {each["loc"][0] for each in error.errors()}
        return model.model_validate({name: kept[name] for name in kept.keys() - bad})
