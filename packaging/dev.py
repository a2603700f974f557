"""Run, test, measure and build the program from a checkout, with nothing but a Python installed.

    python3 packaging/dev.py run --demo     open the window with the demo server
    python3 packaging/dev.py test           every check, then every test
    python3 packaging/dev.py test --coverage    how much of the code the tests reach

Standard library only. It makes a virtual environment in .venv the first time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

OLDEST, NEWEST = (3, 11), (3, 14)


def _suitable_python() -> str | None:
    """Find an interpreter of these versions; a name on the path may be an empty shim, so try."""
    names = (f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1))
    for program in filter(None, map(shutil.which, names)):
        if subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
            return program
    return None


if not OLDEST <= sys.version_info[:2] <= NEWEST:
    _suitable = _suitable_python()
    if _suitable is None:
        sys.exit(
            f"MCP Progress Monitor needs Python 3.11 to 3.14, and {sys.executable} is "
            f"{sys.version.split()[0]}. Install one of these and start this with it:\n"
            "    python3.14 packaging/dev.py " + " ".join(sys.argv[1:])
        )
    sys.exit(subprocess.call([_suitable, *sys.argv]))

import forms  # noqa: E402
import manifests  # noqa: E402
from beside import Beside  # noqa: E402
from environment import ROOT, Environment  # noqa: E402
from forked_tests import CAN_FORK, ForkedTests  # noqa: E402
from launch import run  # noqa: E402
from release import check_tag, draft, release  # noqa: E402
from screen import (  # noqa: E402
    ensure_platform,
    ensure_xvfb,
    has_display,
    missing,
    native_platform,
    packages_in,
    virtual_screen,
)
from system import SetupError, install_command, is_debian, is_root, say  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# All tests together: the checks before them and this stay well below a quarter of an hour.
_SESSION_TIMEOUT_S = 780
_REAL_PROCESSES = "tests/integration"
_WAITING = ("tests/strangers", "tests/unit/sessions/connection", "tests/unit/sessions/transport")
"""Those of the others that wait for processes and files as well, without sharing what forks."""
_WINDOWS = "tests/gui"
_SOURCE = "tests/architecture"
"""Its tests parse the whole source, once for all of them."""
_SHARES = 4
_LINT = "lint"
_OTHERS = "all other tests"
_PROCESSORS = os.cpu_count() or 1
_AT_A_TIME = {False: 2 + _PROCESSORS, True: 1 + _PROCESSORS}
"""How many parts that wait for processes and clocks for half of their time, and beside them how
many that only compute and take what those leave of the processors: one more than there are, else
the last is alone at the end. With all at once each would be slow enough to run into the limits of
its tests."""
_TERSE = ("--assert=plain", "--showlocals")
"""Rewriting every assertion takes longer than many of the tests: only those that failed are run
again with it, and till then the values of variables tell why."""
_MEMORY = Path("/dev/shm")  # noqa: S108  # what is made there is a folder of our own
"""Files that Linux keeps in memory: tests make tens of thousands, and wait for no disk."""
_ROOM = 4 * 2**30
_LOOK_S = 0.1
_COVERED = ("tests/unit", "tests/gui")
"""Tests of the process that they run in: others would have to be measured in their children."""
_FEW = 3
"""So many failures in one part may be bad luck."""
_WORST = 10

LINTERS: tuple[tuple[str, ...], ...] = (("ruff", "check", "."), ("ruff", "format", "--check", "."))
_MYPY = "import gc; gc.disable(); from mypy.__main__ import console_entry as main; main()"
"""Nothing of what it keeps is garbage: to look for some takes a tenth of its time."""
_IMPORT_LINTER = "from importlinter.cli import lint_imports_command as main; main()"


def setup(environment: Environment) -> int:
    """Make everything ready: dependencies, and the libraries a window needs."""
    environment.ensure()
    ensure_platform(environment, "offscreen", os.environ)
    if has_display(os.environ):
        ensure_platform(environment, native_platform(os.environ), os.environ)
    else:
        with virtual_screen(os.environ) as environ:
            ensure_platform(environment, native_platform(environ), environ)
        if lacking := missing(environment, "xcb"):
            say(f"For a window this machine lacks {', '.join(lacking)}.")
            if packages := packages_in(lacking):
                say(f"    {install_command(packages)}")
    say("Ready. Try: python3 packaging/dev.py run --demo")
    return 0


def lint(environment: Environment) -> int:
    """Run every check that reads the code without running it."""
    environment.ensure()
    return _steps(environment, _lint_steps())


def test(environment: Environment, arguments: Sequence[str]) -> int:
    """Run the checks, then the tests; all of them, even after one failed."""
    environment.ensure()
    if CAN_FORK and not arguments and not environment.is_current:
        python = str(environment.python)  # only what runs there can import for the tests
        os.execv(python, [python, str(ROOT / "packaging" / "dev.py"), "test"])  # noqa: S606
    ensure_platform(environment, "offscreen", os.environ)
    if sys.platform.startswith("linux") and ensure_xvfb() and is_debian() and is_root():
        # For the tests of the virtual screen; they are skipped where it or a library is missing.
        with virtual_screen(os.environ) as environ, contextlib.suppress(SetupError):
            ensure_platform(environment, "xcb", environ)
    if arguments[:1] == ["--coverage"]:
        return _coverage(environment, arguments[1:] or _COVERED)
    tests = ["-m", "pytest", f"--session-timeout={_SESSION_TIMEOUT_S}"]
    if arguments:
        return _steps(environment, {**_lint_steps(), "pytest": [*tests, *arguments]})
    # Where a shell started this in the background, it would go on after an interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tests.append("--durations=5")  # what made it slow, should it be
    with _folder_of_tests() as (folder, environ):
        commands = {_LINT: [str(ROOT / "packaging" / "dev.py"), "lint"]}
        for name, paths in _test_parts().items():
            commands[name] = [*tests, *_TERSE, "-o", f"cache_dir={folder / name}", *paths]
        failed = _side_by_side(environment, commands, environ)
        return _verdict(
            [part.name for part in failed if not _passes_alone(part, folder / part.name, environ)]
        )


@contextlib.contextmanager
def _folder_of_tests() -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder for what the tests leave, and their environment, in which all they make is there.

    In memory, where that has room and lets programs run; else only what pytest remembers.
    """
    is_memory = _has_room(_MEMORY)
    # No TemporaryDirectory: a process that was forked from this one would delete it at its exit.
    folder = Path(tempfile.mkdtemp(dir=_MEMORY if is_memory else None))
    try:
        folder.chmod(0o711)  # for tests that go on as another user
        yield folder, {**_environ(), "TMPDIR": str(folder)} if is_memory else _environ()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _has_room(folder: Path) -> bool:
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > _ROOM


def _passes_alone(part: Beside, cache: Path, environ: Mapping[str, str]) -> bool:
    """Run the few tests that failed in this part once more, alone on the machine.

    A test that passes then depends on the load, or on the tests before it, which is a fault of its
    own: it is named, and to be repaired, but it holds up nobody's change. A part of which tests
    were left out, or many failed, stays failed.
    """
    found = cache / "v" / "cache" / "lastfailed"
    names = sorted(json.loads(found.read_text("utf-8"))) if found.exists() else []
    if not 0 < len(names) <= _FEW or part.took_s >= _SESSION_TIMEOUT_S:
        return False
    again = [
        *[word for word in part.command if word not in _TERSE],
        "--last-failed",
        "--last-failed-no-failures=none",
    ]
    alone = Beside(f"{part.name}, again", again, ROOT, environ)
    if not alone.succeeds():
        return False
    say("\n".join(["UNSTEADY: failed beside other tests, passed alone:", *names]))
    return True


def _coverage(environment: Environment, tests: Sequence[str]) -> int:
    """Run tests and print how many of the lines they reach, and where the fewest."""
    run = ["-m", "coverage", "run", "-m", "pytest", *tests]  # with no limit: it takes twice as long
    failed = _steps(environment, {"pytest, measured": run})
    report = subprocess.run(
        [str(environment.python), "-m", "coverage", "report", "--sort=cover"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    # The heading and a line, modules from the worst to the best, a line, and the total.
    heading, line, *modules = report.stdout.splitlines() or ["", ""]
    print("\n".join([heading, line, *modules[:-2][:_WORST], *modules[-2:]]))
    return failed or report.returncode


def _test_parts() -> dict[str, list[str]]:
    """Divide the tests: the paths of each part, by its name.

    Those that wait the most come first; what only computes fills what they leave.
    """
    waiting = [each for folder in _WAITING for each in _test_files(folder)]
    not_shared = (f"{_REAL_PROCESSES}/", f"{_WINDOWS}/", f"{_SOURCE}/")
    rest = [each for each in _test_files("tests") if not each.startswith(not_shared)]
    return {
        **_shares(_REAL_PROCESSES, _test_files(_REAL_PROCESSES)),
        f"pytest {', '.join(_WAITING)}": waiting,
        **_shares(_WINDOWS, _test_files(_WINDOWS)),
        **_shares(_OTHERS, [_SOURCE, *(each for each in rest if each not in waiting)]),
    }


def _test_files(folder: str) -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("test_*.py"))
    return sorted(paths)


def _shares(name: str, files: Sequence[str]) -> dict[str, list[str]]:
    """Neighbours take about as long: each goes to another share."""
    return {
        f"pytest {name} ({share + 1} of {_SHARES})": list(files[share::_SHARES])
        for share in range(_SHARES)
    }


def _side_by_side(
    environment: Environment, commands: Mapping[str, Sequence[str]], environ: Mapping[str, str]
) -> list[Beside]:
    """Run as many at a time as keep the processors busy, in this order; return what failed."""
    waiting = list(commands.items())
    running: list[Beside] = []
    failed: list[Beside] = []
    try:
        while waiting or running:
            for name, command in list(waiting):
                alike = [each for each in running if _fills(each.name) is _fills(name)]
                if len(alike) == _AT_A_TIME[_fills(name)]:
                    continue
                waiting.remove((name, command))
                python = [str(environment.python), *command]
                kind = ForkedTests if CAN_FORK and name != _LINT else Beside
                running.append(kind(name, python, ROOT, environ))
                if _fills(name):
                    running[-1].give_way()
            for part in [each for each in running if each.has_ended()]:
                running.remove(part)
                if not part.succeeds():
                    failed.append(part)
            time.sleep(_LOOK_S)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may come once to each and once to all
        for part in running:
            part.stop()
        raise
    return failed


def _fills(name: str) -> bool:
    """Whether this part only computes."""
    return name == _LINT or _OTHERS in name


def _environ() -> dict[str, str]:
    """Let compiled modules be kept: tests start hundreds of processes that would compile all."""
    return {n: value for n, value in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}


def _lint_steps() -> dict[str, list[str]]:
    steps = {" ".join(step): ["-m", *step] for step in LINTERS}
    steps["mypy"] = ["-c", _MYPY]
    if "CI" in os.environ and not (ROOT / ".mypy_cache").exists():
        steps["mypy"] += ["--cache-dir", os.devnull]  # nobody reads what a bare clone keeps
    return {**steps, "lint-imports": ["-c", _IMPORT_LINTER]}


def _steps(environment: Environment, steps: Mapping[str, Sequence[str]]) -> int:
    """Run each step, show its name and time, and fail if any failed."""
    failed = []
    for name, arguments in steps.items():
        say(f"-- {name}")
        started = time.monotonic()
        command = [str(environment.python), *arguments]
        done = subprocess.run(command, cwd=ROOT, env=_environ(), check=False)
        verdict = "ok" if done.returncode == 0 else f"FAILED (exit code {done.returncode})"
        say(f"-- {name}: {verdict}, {time.monotonic() - started:.1f} s")
        if done.returncode:
            failed.append(name)
    return _verdict(failed)


def _verdict(failed: Sequence[str]) -> int:
    say("All steps passed." if not failed else f"Failed: {', '.join(failed)}")
    return 1 if failed else 0


def bench(environment: Environment, arguments: Sequence[str]) -> int:
    """Run benchmarks and print their figures; nothing passes or fails here."""
    environment.ensure()
    ensure_platform(environment, "offscreen", os.environ)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    command = [str(environment.python), "-m", "tests.benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def pictures(environment: Environment, arguments: Sequence[str]) -> int:
    """Save pictures of every state of the window, on screens of many sizes, in every theme.

    With `readme` first, only those of the README, one of which moves.
    """
    environment.ensure()
    ensure_platform(environment, "offscreen", os.environ)
    command = [str(environment.python), "-m", "tests.gui.pictures", *arguments]
    if arguments[:1] == ["readme"]:
        command[1:] = [str(ROOT / "packaging" / "showcase.py"), *arguments[1:]]
    environ = {"QT_QPA_PLATFORM": "offscreen", **os.environ}
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


def docs(environment: Environment, *, is_check: bool, is_site: bool) -> int:
    """Write or check the pages that the program can write; build the site, where links must fit."""
    environment.ensure()
    ensure_platform(environment, "offscreen", os.environ)
    reference = [str(ROOT / "packaging" / "reference.py"), *(["--check"] if is_check else [])]
    steps = {"reference pages": reference}
    if is_site:
        environment.pip("install", "-c", str(environment.constraints), "zensical")
        steps["site"] = ["-m", "zensical", "build", "--strict"]
    return _steps(environment, steps)


def build(environment: Environment, known: argparse.Namespace) -> int:
    """Build what was asked for into dist/, and check it."""
    if known.all:
        return forms.build_all(environment)
    if known.image is not None:
        forms.build_image(environment, known.image or None)
    elif known.bundle or known.deb:
        forms.build_archive(environment)
        if known.deb:
            forms.build_package(environment)
    else:
        forms.build_distributions(environment)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="packaging/dev.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in {
        "setup": "make .venv, install the dependencies, check that a window can open",
        "run": "run the program: what follows is passed to it",
        "test": "run every check and test; --coverage: measure what is reached; then pytest's",
        "bench": "run benchmarks: [NAME …] [--json]",
        "pictures": "save pictures of every state of the window: [FOLDER] [SCREEN …]; or: readme",
        "lint": "run ruff, mypy and import-linter",
        "docs": "write the reference pages of the manual",
        "release": "build, test and tag version X.Y.Z; says what a person then does",
        "manifests": "write checksums, Homebrew formula and winget manifests for built files",
        "draft": "draft the release on GitHub with these files",
        "build": "build wheels and sdists into dist/, or a bundle, a package or an image",
    }.items():
        command = commands.add_parser(name, help=text, add_help=name not in PASSING_ON)
        if name == "build":
            _add_forms(command)
        if name == "release":
            command.add_argument("version", metavar="X.Y.Z")
            command.add_argument(
                "--check", action="store_true", help="only compare the tag vX.Y.Z with the version"
            )
        if name in _FOLDERS:
            command.add_argument("folder", type=Path, help="the files of all systems")
        if name == "docs":
            command.add_argument(
                "--check", action="store_true", help="only tell what is out of date"
            )
            command.add_argument("--site", action="store_true", help="build build/site as well")
    return parser


def _add_forms(command: argparse.ArgumentParser) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--bundle", action="store_true", help="a folder without Python, packed")
    form.add_argument("--deb", action="store_true", help="the bundle as a Debian package")
    form.add_argument(
        "--image",
        nargs="?",
        const="",
        metavar="BASE",
        help="the core as a container image over BASE, or over a bare Debian made here",
    )
    form.add_argument("--all", action="store_true", help="all, tried out in bare systems")


PASSING_ON = {"run": run, "test": test, "bench": bench, "pictures": pictures}
_FOLDERS = {"manifests": manifests.write, "draft": draft}
_PLAIN = {"setup": setup, "lint": lint}


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say and return the exit code."""
    parser = _parser()
    if arguments and arguments[0] in PASSING_ON:
        known, rest = parser.parse_args(arguments[:1]), list(arguments[1:])
    else:
        known, rest = parser.parse_args(arguments), []
    environment = Environment()
    try:
        if known.command in PASSING_ON:
            return PASSING_ON[known.command](environment, rest)
        if known.command == "docs":
            return docs(environment, is_check=known.check, is_site=known.site)
        if known.command == "release":
            return check_tag(known.version) if known.check else release(known.version)
        if known.command in _FOLDERS:
            return _FOLDERS[known.command](known.folder)
        if known.command == "build":
            return build(environment, known)
        return _PLAIN[known.command](environment)
    except SetupError as error:
        say(f"dev.py: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
