"""Importing servers of other programs' files and exporting saved ones: reading, asking, writing."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio.to_thread
from PySide6.QtCore import QCoreApplication, QObject, Qt, Slot

from mcp_progress_monitor.looking import here, home
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.clients import FoundFile
    from mcp_progress_monitor.catalogue.reading import ConfigFile
    from mcp_progress_monitor.models.catalogue_export import ExportWish
    from mcp_progress_monitor.models.import_words import ImportWish
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.shell.cataloguing import Cataloguing
    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.catalogue_export_dialog import CatalogueExportDialog
    from mcp_progress_monitor.widgets.import_dialog import ImportDialog

P = ParamSpec("P")
T = TypeVar("T")


class Importing(QObject):
    """Serves one import and one export dialog. Files are read and written in threads."""

    def __init__(
        self,
        parent: QWidget,
        cataloguing: Cataloguing,
        tasks: Tasks,
        appearance: Appearance,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._cataloguing = cataloguing
        self._tasks = tasks
        self._appearance = appearance
        self._import: ImportDialog | None = None
        self._export: CatalogueExportDialog | None = None

    @Slot()
    def ask_to_import(self) -> None:
        """Offer to import from the files that are found here, or any other."""
        from mcp_progress_monitor.widgets.import_dialog import ImportDialog

        if self._import is None:
            dialog = ImportDialog((), self._appearance, self._parent)
            dialog.file_chosen.connect(self._on_file_chosen)
            dialog.answers_entered.connect(self._on_answers_entered)
            dialog.import_requested.connect(self._on_import_requested)
            dialog.finished.connect(self._on_import_finished)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self._import = dialog
            dialog.open()
            self._tasks.start("look for configurations", self._look_for_files)
            self._tasks.start("look for a keyring", self._look_for_keyring, dialog)
        self._import.raise_()
        self._import.activateWindow()

    @Slot()
    def ask_to_export(self) -> None:
        """Offer to write the saved servers in some client's form."""
        from mcp_progress_monitor.catalogue.clients import FORMS, OURS
        from mcp_progress_monitor.widgets.catalogue_export_dialog import CatalogueExportDialog

        if self._export is None:
            names = list(self._cataloguing.saved.entries)
            dialog = CatalogueExportDialog(names, FORMS, self._appearance, self._parent)
            dialog.text_wanted.connect(self._on_export_wished)
            dialog.export_requested.connect(self._on_export_wished)
            dialog.finished.connect(self._on_export_finished)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self._export = dialog
            dialog.form.setCurrentIndex(FORMS.index(OURS))  # the one that leaves nothing out
            dialog.open()
            dialog.ask()
        self._export.raise_()
        self._export.activateWindow()

    async def _look_for_files(self) -> None:
        found = await files_here()
        if self._import is not None:
            self._import.set_files(found)

    async def _look_for_keyring(self, dialog: ImportDialog) -> None:
        problem = await keyring_problem()
        if problem is not None and self._import is dialog:
            dialog.set_keyring(problem)

    @Slot(object)
    def _on_file_chosen(self, path: Path) -> None:
        self._tasks.start(f"read {path.name}", self._show, path, {})

    @Slot(object, object)
    def _on_answers_entered(self, path: Path, answers: Mapping[str, str]) -> None:
        self._tasks.start(f"read {path.name}", self._show, path, answers)

    async def _show(self, path: Path, answers: Mapping[str, str]) -> None:
        from mcp_progress_monitor.catalogue.preview import preview, secrets_in_question

        try:
            config = await _read(path, answers)
        except ProblemError as error:
            if self._import is not None:
                self._import.show_unreadable(path, error.problem)
            return
        saved = self._cataloguing.saved
        keyring = self._cataloguing.keyring
        known = await _in_thread(secrets_in_question, config, saved.catalogue, keyring)
        rows = preview(config, saved.catalogue, known)
        if self._import is not None:
            self._import.show_rows(path, rows, config.problems, saved.entries)

    @Slot(object)
    def _on_import_requested(self, wish: ImportWish) -> None:
        self._tasks.start(f"import {wish.path.name}", self._take_in, wish)

    async def _take_in(self, wish: ImportWish) -> None:
        """Read the file once more, with the answers, and save what is ticked of it."""
        try:
            await self._save(await self._answered(wish), wish)
        except _KeyringError as error:
            if self._import is not None:
                self._import.show_refusal(error.problem, is_of_keyring=True)
        except ProblemError as error:
            if self._import is not None:
                self._import.show_refusal(error.problem)
        else:
            if self._import is not None:
                self._import.close_imported()
        self._cataloguing.refresh()

    async def _answered(self, wish: ImportWish) -> ConfigFile:
        """The file with the answers in it, or with references to the secret ones."""
        from mcp_progress_monitor.catalogue.variables import kept_answers, referred_answers
        from mcp_progress_monitor.models.import_words import SecretsAs

        if wish.secrets is SecretsAs.TEXT:
            return await _read(wish.path, wish.answers)
        config = await _read(wish.path, {})
        wanted = [each for each in config.found if each.definition.name in wish.names]
        asks = {ask.id: ask for found in wanted for ask in found.asks}.values()
        if wish.secrets is SecretsAs.VARIABLES:
            return await _read(wish.path, referred_answers(asks, wish.answers))
        keyring, prefix = self._cataloguing.keyring, config.client.key
        return await _read(
            wish.path, await _in_thread(kept_answers, asks, wish.answers, keyring, prefix)
        )

    async def _save(self, config: ConfigFile, wish: ImportWish) -> None:
        from mcp_progress_monitor.catalogue.preview import (
            Standing,
            imported_entry,
            preview,
            renewed_secrets,
            rows_named,
            save_rows,
            secrets_in_question,
        )

        catalogue, variables = self._cataloguing.saved.catalogue, list[str]()
        keyring = self._cataloguing.keyring
        known = await _in_thread(secrets_in_question, config, catalogue, keyring)
        made = []
        for row in rows_named(preview(config, catalogue, known), wish.names):
            if row.standing in {Standing.NEW, Standing.CHANGED}:
                for name, secret in renewed_secrets(row, catalogue, known).items():
                    await _in_thread(keyring.put, name, secret)
                entry = imported_entry(row, config, catalogue, known)
                definition = await self._without_secrets(entry.definition, wish, variables)
                made.append((row, dataclasses.replace(entry, definition=definition)))
        if made:  # all or nothing: a secret that cannot be kept stops it before
            save_rows(made, catalogue)
        self._cataloguing.tell_variables(variables)

    async def _without_secrets(
        self, definition: ServerDefinition, wish: ImportWish, variables: list[str]
    ) -> ServerDefinition:
        """The server with its secrets where they were wanted; `variables` get those to be set."""
        from mcp_progress_monitor.catalogue.secrets import in_environment, in_keyring
        from mcp_progress_monitor.models.import_words import SecretsAs

        if wish.secrets is SecretsAs.TEXT:
            return definition
        if wish.secrets is SecretsAs.KEYRING:
            return await _in_thread(in_keyring, definition, self._cataloguing.keyring)
        kept, names = in_environment(definition)
        variables += names
        return kept

    @Slot(object)
    def _on_export_wished(self, wish: ExportWish) -> None:
        self._tasks.start("export servers", self._write, wish)

    async def _write(self, wish: ExportWish) -> None:
        from mcp_progress_monitor.catalogue.clients import client_of
        from mcp_progress_monitor.catalogue.writing import write_file

        entries = [e for e in self._cataloguing.saved.entries.values() if e.name in wish.names]
        client = client_of(wish.form)
        try:
            written = write_file(entries, client, None, with_secrets=wish.with_secrets)
            if wish.path is not None:
                write = functools.partial(write_file, with_secrets=wish.with_secrets)
                written = await anyio.to_thread.run_sync(write, entries, client, wish.path)
        except ProblemError as error:
            if self._export is not None:
                self._export.show_refusal(error.problem)
            return
        if self._export is None:
            return
        if wish.path is not None:
            self._export.show_saved(wish.path, written.kept)
        elif self._export.wish() == wish:  # else another one was chosen meanwhile
            self._export.show_text(written.text, written.left_out)

    @Slot()
    def _on_import_finished(self) -> None:
        self._import = None

    @Slot()
    def _on_export_finished(self) -> None:
        self._export = None


async def files_here() -> list[FoundFile]:
    """The known clients' files on this machine, and in this folder; nothing of them is read."""
    from mcp_progress_monitor.catalogue.clients import found_files

    return await anyio.to_thread.run_sync(
        found_files, home(), dict(os.environ), sys.platform, _folder()
    )


async def keyring_problem() -> Problem | None:
    """Why no secret can be put into a keyring here; None where there is one.

    A keyring may wait for somebody to unlock it: that must not keep the window from closing.
    """
    from mcp_progress_monitor.sessions import keyring_system

    if await anyio.to_thread.run_sync(keyring_system.is_available, abandon_on_cancel=True):
        return None
    what = QCoreApplication.translate("Importing", "No keyring can be used here")
    instead = "Values can be taken from your environment instead."
    return Problem(what, hint=QCoreApplication.translate("Importing", instead))


def _folder() -> Path | None:
    """Where the program was started, if that may be somebody's project."""
    folder = here()
    return None if folder is None or folder in {home(), Path(folder.anchor)} else folder


class _KeyringError(ProblemError):
    """The keyring did not take a secret."""


async def _in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What a keyring is asked for, which may take until the user has unlocked it."""
    call = functools.partial(work, *given, **named)
    try:
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    except ProblemError as error:
        raise _KeyringError(error.problem) from error


async def _read(path: Path, answers: Mapping[str, str]) -> ConfigFile:
    from mcp_progress_monitor.catalogue.reading import read_file
    from mcp_progress_monitor.catalogue.variables import Variables

    return await anyio.to_thread.run_sync(read_file, path, Variables(answers=answers))
