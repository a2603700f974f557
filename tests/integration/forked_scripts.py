"""Scripts of ours that a program of a test starts: forked from it, for they are imported there.

An interpreter that starts and imports a server takes seven times as long as the server then works
for a test. A forked server is a process like any other: a pid, a session, streams, an environment
that the system shows, an exit code. What cannot be taken over so is started as ever.
"""

import atexit
import ctypes
import gc
import importlib
import io
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from mcp_progress_monitor import paths
from mcp_progress_monitor.sessions.transport.watchdog import MARK
from tests.servers.definition import COMMAND

_OF_TESTS: Final = ("tests.gui.", "tests.integration.")
"""Whose other programs are run as they are."""
PROGRAM: Final = "mcp_progress_monitor.__main__"
SCRIPTS: Final = {
    tuple(paths.internal_command(paths.DEMO)): "mcp_progress_monitor.demo.__main__",
    tuple(paths.internal_command(paths.WATCHDOG)): (
        "mcp_progress_monitor.sessions.transport.watchdog"
    ),
    COMMAND: "tests.servers.__main__",
    (sys.executable, "-m", "tests.servers"): "tests.servers.__main__",
    (sys.executable, "-m", "mcp_progress_monitor"): PROGRAM,
}
"""The module of each script, by the arguments that start it."""
_LATE: Final = ("tests.servers.http.serving",)
"""What a script imports when it is asked to."""
OFFICIAL: Final = "from mcp.server import MCPServer"
"""In a program that is started with `-c`: it is a server made with the official SDK."""
_IMPORTED_OFFICIAL: Final = (
    "anyio._backends._asyncio",
    "mcp.server.mcpserver.resolve",
    "mcp.server.streamable_http_manager",
    "uvicorn",
)
_ENVIRONMENT_AT: Final = 47
"""Where the third part of /proc/self/stat has the start of the environment, and then its end."""
_USER: Final = os.geteuid() if hasattr(os, "geteuid") else 0
_execute_child: Final[Any] = vars(subprocess.Popen)["_execute_child"]


class Script(NamedTuple):
    """A script of ours as it is to be started."""

    module: str
    """Empty for a program in the first of `arguments`, made with the official SDK."""
    arguments: list[str]
    folder: str
    environment: Mapping[str, str]
    leads_session: bool


def import_scripts() -> None:
    """Import all that a script of ours imports."""
    for name in {*SCRIPTS.values(), *_LATE}:
        importlib.import_module(name)


def import_official() -> None:
    """Import what a server made with the official SDK imports, which takes a second."""
    for name in _IMPORTED_OFFICIAL:
        importlib.import_module(name)


def fork_scripts() -> None:
    """From now on fork what `Popen` would start, where it is a script of ours.

    Only what has no event loop: it would find that of this one.
    """
    start_scripts(_fork, {"", *SCRIPTS.values()} - {PROGRAM})


def start_scripts(
    start: Callable[[Script, Sequence[int]], int], modules: Collection[str] = ()
) -> None:
    """From now on have `start` begin a script of ours that `Popen` would start, or of `modules`.

    It is given the ends of pipes for the three standard streams, -1 for one that is inherited, and
    returns the pid of a child of this process.
    """

    def begin(process: Any, args: Any, *others: Any) -> None:
        script = _script(args, others)
        if script is None or (modules and script.module not in modules):
            _execute_child(process, args, *others)
            return
        pipes = others[9:15]
        process.pid = start(script, (pipes[0], pipes[3], pipes[5]))
        process._child_created = True  # noqa: SLF001  # as the method does that this stands for
        process._close_pipe_fds(*pipes)  # noqa: SLF001

    setattr(subprocess.Popen, "_execute_child", begin)  # noqa: B010  # not ours


def _script(args: Any, others: Sequence[Any]) -> Script | None:
    """What `Popen` is to start, if it is a script of ours that is started in the usual way."""
    arguments: list[Any] = [args] if isinstance(args, str | bytes | os.PathLike) else list(args)
    start = next((each for each in SCRIPTS if tuple(arguments[: len(each)]) == each), None)
    executable, prepare, _, passed, folder, environment, _, _, is_shell = others[:9]
    is_unusual = executable or prepare or passed or is_shell or not Path(folder or ".").is_dir()
    if is_unusual or os.geteuid() != _USER:
        return None
    if start is not None:
        module, arguments = SCRIPTS[start], arguments[len(start) :]
    elif arguments[:2] == [sys.executable, "-c"] and OFFICIAL in arguments[2]:
        module, arguments = "", arguments[2:]
    elif arguments[:2] == [sys.executable, "-m"] and arguments[2].startswith(_OF_TESTS):
        module, arguments = arguments[2], arguments[3:]
    else:
        return None
    variables = dict(os.environ if environment is None else environment)
    if _of_python(variables) != _of_python(os.environ):
        return None  # it would start with other paths or settings
    return Script(module, arguments, str(folder or "."), variables, bool(others[20]))


def _of_python(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


def _fork(script: Script, streams: Sequence[int]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            be_alone(streams)
            run_script(script)
        finally:
            os._exit(1)
    return pid


def be_alone(streams: Sequence[int]) -> None:
    """Keep nothing of the process that forked this one but these streams and what is imported."""
    atexit._clear()  # noqa: SLF001
    gc.enable()
    signal.set_wakeup_fd(-1)
    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number, end in enumerate(streams):
        if end != -1:
            os.dup2(end, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    take_streams()


def take_streams() -> None:
    """Open the standard streams as a new interpreter does."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = io.TextIOWrapper(
            open(number, "wb" if number else "rb", closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="backslashreplace" if number == 2 else "strict",
            line_buffering=number == 2 or os.isatty(number),
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def take_environment(environment: Mapping[str, str]) -> None:
    """Have these variables, and show them to the system: all, or as many as there is room for."""
    variables = dict(environment)
    os.environ.clear()
    os.environ.update(variables)
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    start, end = map(int, fields[_ENVIRONMENT_AT : _ENVIRONMENT_AT + 2])
    # That by which servers are found comes first.
    names = sorted(variables, key=lambda name: name != MARK)
    shown = b"".join(os.fsencode(f"{name}={variables[name]}") + b"\0" for name in names)
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, shown, min(len(shown), end - start - 1))


def run_script(script: Script) -> NoReturn:
    """Be this script to its end."""
    if script.leads_session:
        os.setsid()
    os.chdir(script.folder)
    take_environment(script.environment)
    try:
        code = _main_of_module(script) if script.module else _official(*script.arguments)
    except SystemExit as ending:  # of argparse, which has written why
        if isinstance(ending.code, str):
            sys.stderr.write(f"{ending.code}\n")
        code = 1 if isinstance(ending.code, str) else int(ending.code or 0)
    except BaseException:  # noqa: BLE001  # as an interpreter does
        traceback.print_exc()
        code = 1
    end_with(code)


def _main_of_module(script: Script) -> int:
    if script.module not in SCRIPTS.values():
        sys.modules.pop(script.module, None)
        sys.argv = ["", *script.arguments]
        runpy.run_module(script.module, run_name="__main__", alter_sys=True)
        return 0
    module = importlib.import_module(script.module)
    sys.argv = [str(module.__file__), *script.arguments]
    if script.module == PROGRAM:
        fork_scripts()
        return int(module.main())
    return int(module.main(script.arguments))


def _official(program: str, *arguments: str) -> int:
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = ["-c", *arguments]
    exec(compile(program, "<string>", "exec"), vars(main))  # noqa: S102  # as `-c` does
    return 0


def end_with(code: int) -> NoReturn:
    """Do what an interpreter does at its end, but for taking apart all that was imported."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
