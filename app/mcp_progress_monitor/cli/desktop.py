"""Opens the window after checking for Qt and a display; `associate`.

The only module that checks for the window's toolkit.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import qt_libraries
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.paths import data_dir, unwritable

if TYPE_CHECKING:
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_WITHOUT_WINDOW = "Commands such as `tools`, `call` and `resume` work without it."
_LOCAL_DISPLAY: Final = re.compile(r"(?:unix)?:(\d{1,5})(?:\.\d+)?")


def require_toolkit() -> None:
    """Load Qt, so that the window's own code can be imported.

    `CommandFailed` with code 2 when Qt or a display is missing.
    """
    # Loading creates no garbage, but the collector runs a dozen times: a tenth of the start-up
    # time. `gui.garbage` takes over later.
    gc.disable()
    _require_modules()
    restore_import()
    _require_display()
    _require_libraries()


def _require_modules() -> None:
    module = "qasync"
    try:
        is_missing = importlib.util.find_spec(module) is None  # loaded once the window is painted
        if not is_missing:
            module = "PySide6.QtWidgets"
            importlib.import_module(module)
    except ModuleNotFoundError:
        is_missing = True
    except ImportError as error:
        raise _no_libraries(module, str(error)) from error
    if is_missing:
        raise _no_qt(module, _to_install(), f"No module named '{module}'")


def _to_install() -> str:
    """How the window's packages get into this environment."""
    import sysconfig

    if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")):
        return (
            "There is no Qt for Python for musl, the C library of Alpine. Use `watch` in this "
            "terminal, the window in a container of another system, or *Watch another machine* in "
            "the window of one."
        )
    pip = f"{sys.executable} -m pip install"
    if importlib.util.find_spec("pip") is None:
        pip = f"uv pip install --python {sys.executable}"
    return f"Install it with: {pip} mcp-progress-monitor"


def _require_libraries() -> None:
    """Load Qt's plugin for this display: where a library lacks, Qt would abort the process.

    Qt itself names one library in its message, and not the one that lacks. What is needed only
    once the window is painted is loaded as well, but not yet imported.
    """
    if not sys.platform.startswith("linux"):
        return
    from PySide6.QtCore import QLibrary

    for file in qt_libraries.late_modules():
        library = QLibrary(str(file))
        if not library.load():
            raise _no_libraries(file.name, library.errorString())
    if "QT_QPA_PLATFORM_PLUGIN_PATH" in os.environ:
        return
    errors: dict[str, str] = {}
    for name in qt_libraries.platforms(os.environ):
        plugin = qt_libraries.plugin_of(name)
        if plugin is None:  # another package's, or Qt says which there are
            return
        library = QLibrary(str(plugin))
        if library.load():
            return
        errors[plugin.name] = library.errorString()
    raise _no_libraries(*next(iter(errors.items())))


def _no_libraries(file: str, error: str) -> CommandFailed:
    """The error that names the system's libraries that Qt lacks, and what to install."""
    missing = qt_libraries.missing(qt_libraries.platforms(os.environ), error)
    if not missing:
        return _no_qt(file, "Check that PySide6-Essentials suits this system.", error)
    advice = ["Install the missing system libraries.", *qt_libraries.advice(missing)]
    return _no_qt(", ".join(missing), "\n".join(advice), "")


def _no_qt(where: str, advice: str, error: str) -> CommandFailed:
    hint = f"{_WITHOUT_WINDOW}\n{advice}"
    details = ErrorDetails("Cannot load Qt, which the window needs", where, hint, error)
    return CommandFailed(ExitCode.USAGE, details)


def restore_import() -> None:
    """Restore the built-in `__import__`, which PySide6 replaces for `from __feature__ import …`.

    The replacement reads the source of every module imported afterwards: a tenth of the start-up
    time. We use no such feature.
    """
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original


def _require_display() -> None:
    """Check for X or Wayland: without either, Qt would abort the process."""
    platform = os.environ.get("QT_QPA_PLATFORM") or "xcb"
    if not sys.platform.startswith("linux") or platform != "xcb":
        return
    display = os.environ.get("DISPLAY", "")
    if os.environ.get("WAYLAND_DISPLAY") or (display and _answers(display)):
        return
    where = f"DISPLAY is {display}, but no X server answers there"
    error = ErrorDetails(
        "Cannot open a window: no display found",
        where if display else "neither DISPLAY nor WAYLAND_DISPLAY is set",
        f"Log in to a desktop, or use a virtual display (xvfb-run). {_WITHOUT_WINDOW}",
    )
    raise CommandFailed(ExitCode.USAGE, error)


def _answers(display: str) -> bool:
    """Return whether an X server accepts connections; assumed of those on other machines."""
    local = _LOCAL_DISPLAY.fullmatch(display)
    if local is None:
        return True
    path = f"/tmp/.X11-unix/X{local[1]}"  # noqa: S108  # where X has it
    return _takes_connections(f"\0{path}") or _takes_connections(path)


def _takes_connections(address: str) -> bool:
    import socket  # not where Qt paints without a display

    with socket.socket(socket.AF_UNIX) as stream:
        try:
            stream.connect(address)
        except OSError:
            return False
    return True


def open_window(
    common: CommonOptions,
    screenshot: Path | None = None,
    after_s: float = 5.0,
    *,
    is_safe: bool = False,
    resets_layout: bool = False,
    otel: bool = False,
) -> int:
    """Open the window with the servers that the options name; returns when it is closed.

    `CommandFailed` with code 2 when the window toolkit or a display is missing.
    """
    level = common.log_level or "warning"
    log_to_stderr(level)
    saved = _saved_server(common)
    definitions = () if saved else _definitions(common)
    record = _record(common)
    with contextlib.ExitStack() as stack:
        folder, error = _folder(common, stack)
        require_toolkit()
        from mcp_progress_monitor.crash_reports import crash_trace
        from mcp_progress_monitor.gui.application import run_window

        stack.enter_context(crash_trace(folder))
        return run_window(
            WindowOptions(
                definitions=definitions,
                is_demo=common.demo,
                data_dir=folder,
                log_level=level,
                screenshot=screenshot,
                after_s=after_s,
                config=common.config,
                record=record,
                saved=saved,
                error=error,
                is_safe=is_safe,
                resets_layout=resets_layout,
                otel=otel,
            ),
            _end_servers,
        )


def _end_servers() -> None:
    """End the servers of this process; once a server was started, the module is loaded."""
    from mcp_progress_monitor.sessions.transport.process_guard import guard

    guard.end_all()


def _folder(common: CommonOptions, stack: contextlib.ExitStack) -> tuple[Path, ErrorDetails | None]:
    """The data folder and the error, if any.

    If no folder can be used, a temporary one; `CommandFailed` if the user named that folder.
    """
    try:
        folder = data_dir(common.data_dir)
    except UserError as error:
        if common.data_dir is not None:
            raise CommandFailed(ExitCode.USAGE, error.details) from error
        import tempfile  # seldom needed

        temporary = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="mcp-progress-monitor-", ignore_cleanup_errors=True)
        )
        what = f"{error.details.what}. Nothing from this session is kept after you quit"
        return Path(temporary), error.details._replace(what=what)
    return folder, unwritable(folder)


def _record(common: CommonOptions) -> Path | None:
    if common.record is None:
        return None
    from mcp_progress_monitor.cli.calls.visit import named_record

    return named_record(common)


def _definitions(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    if common._replace(data_dir=None, record=None, log_level=None) == CommonOptions():
        return ()
    from mcp_progress_monitor.cli.calls.target import named_servers

    return named_servers(common)


def _saved_server(common: CommonOptions) -> tuple[str, ...]:
    """The saved server named by `--server`; the window loads the definitions itself."""
    if common.server is None or common.config is not None:
        return ()
    from mcp_progress_monitor.cli.calls.target import named_servers

    named_servers(common)  # raises an error if the server cannot be used
    if common.cwd or common.env or common.header or common.era or common.connect_timeout:
        import click

        raise click.UsageError(
            "--cwd, --env, --header, --era and --connect-timeout cannot be used with a saved"
            " server. To change its settings, edit it in the window."
        )
    return (common.server,)


def associate_recordings(*, removes: bool) -> int:
    """Add or remove the file association; prints what was done and what remains to be done.

    `CommandFailed` with code 8 when the system refuses.
    """
    import click  # no window needs it, nor this

    from mcp_progress_monitor.file_association import association_here

    association = association_here()
    with failing(ExitCode.UNWRITABLE):
        outcome = association.remove() if removes else association.add()
    for line in outcome.done:
        click.echo(visible(line))
    for line in outcome.to_do:
        click.echo(visible(line), err=True)
    return ExitCode.DONE
