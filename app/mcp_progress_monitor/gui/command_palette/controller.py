"""Opens the command palette, gathers its entries, and remembers what was chosen.

The palette is imported on first use, which keeps the start of the window short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.formatting import date_and_clock, one_line
from mcp_progress_monitor.gui.common.commands import CommandAction, carries_out, native, title_of
from mcp_progress_monitor.gui.user_settings import AppearanceSettings, PrivacySettings
from mcp_progress_monitor.gui.window_commands import NEW_CALL, PALETTE
from mcp_progress_monitor.protocol.messages import CALL_TOOL, GET_PROMPT, READ_RESOURCE
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.servers import state_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.command_palette.palette import Palette, PaletteEntry
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.setting_rows import Section
    from mcp_progress_monitor.gui.shortcuts import Shortcuts
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.recording.folder import RecordingEntry, RecordingsFolder
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_KEPT: Final = "palette"
_REMEMBERED: Final = 50
_JOBS: Final = 2_000
_RECORDINGS: Final = 200
_LONGEST: Final = 120
_OF_THIS_RUN: Final = "job/"  # prefixes of ids that are valid only in this run


class PaletteController(QObject):
    """Opens the palette of a window; actions outside the window are requested by signals."""

    server_chosen = Signal(str)  # the name of a connected server whose page is to be shown
    connect_chosen = Signal(str)  # the name of a server to connect
    offer_chosen = Signal(str, str, str)
    """A server, the method, and the name of the tool, prompt or resource."""
    job_chosen = Signal(object)  # a `JobId`
    recording_chosen = Signal(object)  # the `Path` of a recording
    setting_chosen = Signal(str, str)  # the key of a page of the settings, and the name of a row
    theme_chosen = Signal(str)

    def __init__(
        self,
        window: QWidget,
        commands: Commands,
        shortcuts: Callable[[], Shortcuts],
        servers: Callable[[], Iterable[ServerSnapshot]],
        jobs: JobsFollowed,
        preferences: Preferences,
        appearance: Appearance,
        tasks: BackgroundTasks,
        recordings: RecordingsFolder,
        sections: Sequence[type[Section]],
    ) -> None:
        """`sections` are the pages of the settings that the window has."""
        super().__init__(window)
        self._window = window
        self._of_window = commands
        self._shortcuts = shortcuts
        self._connectable = servers
        self._followed = jobs
        self._preferences = preferences
        self._appearance = appearance
        self._tasks = tasks
        self._recordings = recordings
        self._sections = sections
        self._palette: Palette | None = None
        commands.join(self)

    @carries_out(PALETTE)
    def open(self) -> None:
        """Open the palette with the current entries."""
        from mcp_progress_monitor.gui.command_palette.palette import Palette

        if self._palette is None:
            self._palette = Palette(self._appearance, self._window)
            self._palette.chosen.connect(self._on_chosen)
        palette = self._palette
        palette.edit.clear()
        palette.model.set_entries(self._entries(), self._recent())
        palette.open_over(self._window)
        self._tasks.start("list recordings", self._add_recordings, palette)

    @Slot()
    def forget(self) -> None:
        self._preferences.keep_json(_KEPT, {})

    def _recent(self) -> list[str]:
        kept = self._preferences.json_of(_KEPT).get("recent")
        return [str(each) for each in kept] if isinstance(kept, list) else []

    @Slot(object)
    def _on_chosen(self, entry: PaletteEntry) -> None:
        is_remembered = self._preferences.value(PrivacySettings.palette)
        if is_remembered and not entry.id.startswith(_OF_THIS_RUN):
            recent = [entry.id, *(each for each in self._recent() if each != entry.id)]
            self._preferences.keep_json(_KEPT, {"recent": recent[:_REMEMBERED]})
        entry.run()

    def _entries(self) -> Iterator[PaletteEntry]:
        yield from command_entries(self._window, self._shortcuts())
        yield from self._servers()
        yield from self._jobs()
        yield from self._settings()

    def _servers(self) -> Iterator[PaletteEntry]:
        from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

        for server in self._connectable():
            is_up = server.state.is_up
            signal = self.server_chosen if is_up else self.connect_chosen
            yield PaletteEntry(
                f"server/{server.name}",
                "Server",
                one_line(server.name, _LONGEST),
                state_word(server.state),
                "server",
                partial(signal.emit, server.name),
            )
            if is_up and self._of_window.is_offered(NEW_CALL):
                yield from self._offers(server)

    def _offers(self, server: ServerSnapshot) -> Iterator[PaletteEntry]:
        from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

        kinds: Sequence[tuple[str, str, Sequence[tuple[str, str]]]] = (
            ("Tool", CALL_TOOL, [(each.name, each.title or "") for each in server.tools]),
            ("Prompt", GET_PROMPT, [(each.name, each.title or "") for each in server.prompts]),
            (
                "Resource",
                READ_RESOURCE,
                [(each.uri, each.title or each.name) for each in server.resources],
            ),
        )
        for kind, method, named in kinds:
            for name, title in named:
                about = f"{title} · {server.name}" if title and title != name else server.name
                yield PaletteEntry(
                    f"{method}/{server.name}/{name}",
                    kind,
                    one_line(name, _LONGEST),
                    one_line(about, _LONGEST),
                    "new-call",
                    partial(self.offer_chosen.emit, server.name, method, name),
                )

    def _jobs(self) -> Iterator[PaletteEntry]:
        from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

        for job in list(self._followed.ids())[: -_JOBS - 1 : -1]:
            found = self._followed.snapshot(job)
            if found is not None:
                about = f"{job_texts.state(found)}, {job_texts.line(found.server)}"
                summary = job_texts.summary(found)
                yield PaletteEntry(
                    f"job/{job}",
                    "Job",
                    one_line(job_texts.name(found), _LONGEST),
                    one_line(f"{about} {summary}".strip(), _LONGEST),
                    "jobs",
                    partial(self.job_chosen.emit, job),
                )

    def _settings(self) -> Iterator[PaletteEntry]:
        """The themes, and the rows of the settings' pages."""
        from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

        for name, text in AppearanceSettings.scheme.choices.items():
            choose = partial(self.theme_chosen.emit, name)
            title = title_of(text)
            yield PaletteEntry(f"theme/{name}", "Theme", title, "", "image", choose)
        for section in self._sections:
            for row in section.rows():
                title = title_of(row.label) or row.spoken
                show = partial(self.setting_chosen.emit, section.key, row.name)
                yield PaletteEntry(
                    f"setting/{section.key}/{row.name}",
                    "Setting",
                    title,
                    one_line(f"{section.title} · {row.tip}", _LONGEST),
                    section.icon,
                    show,
                )

    async def _add_recordings(self, palette: Palette) -> None:
        entries = await anyio.to_thread.run_sync(self._recordings.entries)
        if palette.isVisible():
            palette.model.add(map(self._recording, entries[: -_RECORDINGS - 1 : -1]))

    def _recording(self, recording: RecordingEntry) -> PaletteEntry:
        from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

        return PaletteEntry(
            f"recording/{recording.path.name}",
            "Recording",
            one_line(recording.path.name, _LONGEST),
            date_and_clock(recording.begun_when)[:16],
            "log",
            partial(self.recording_chosen.emit, recording.path),
        )


def command_entries(window: QWidget, shortcuts: Shortcuts) -> Iterator[PaletteEntry]:
    """The commands that `window` offers now; those of a pane only once it was created."""
    from mcp_progress_monitor.gui.command_palette.palette import PaletteEntry

    actions = window.findChildren(CommandAction)
    offered = {each.command.id: each for each in actions if each.is_offered()}
    for command in shortcuts.commands():
        action = offered.get(command.id)
        if action is not None and command is not PALETTE:
            yield PaletteEntry(
                f"command/{command.id}",
                shortcuts.sections[command.section].title,
                action.text().replace("&", "").removesuffix("…"),
                "",
                "next",
                action.trigger,
                native(action.shortcuts()[:1]),
            )
