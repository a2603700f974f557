from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import dev
import environment
import forms
from environment import ROOT
from forked_tests import CAN_FORK
from mcp_progress_monitor.qt_libraries import PACKAGES
from system import SetupError
from tests.unit.packaging.recorder import Recorder


class Ready:
    """An environment in which everything is there already."""

    python = Path("python")
    is_current = True

    def ensure(self) -> None:
        """Have everything."""

    def works_on(self, _platform: str) -> bool:
        """Have every platform."""
        return True


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let dev.py find everything ready."""
    monkeypatch.setattr(dev, "Environment", Ready)
    monkeypatch.setattr(dev, "ensure_xvfb", lambda: None)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, ready: None) -> Recorder:
    """Remember the steps instead of running them; mypy fails."""
    made = Recorder(lambda line: 1 if "mypy" in line else 0)
    monkeypatch.setattr("dev.subprocess.run", made)
    return made


def test_every_step_runs_after_one_failed_and_the_failure_is_named(
    recorder: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dev.main(["test", "-k", "wire"]) == 1

    names = ["ruff check", "ruff format --check", "mypy", "importlinter", "pytest"]
    assert all(n in line for n, line in zip(names, recorder.commands, strict=True))
    assert recorder.commands[-1].endswith("-k wire")
    assert "Failed: mypy\n" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["tests/unit/test_paths.py", "-x"]])
def test_coverage_is_the_total_and_the_ten_worst_modules(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    ready: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    modules = [f"app/module_{number}.py 10 5 {number}%" for number in range(30)]
    table = "\n".join(["Name Stmts Miss Cover", "----", *modules, "----", "TOTAL 300 150 50%"])
    recorder = Recorder(lambda line: 1 if "pytest" in line else 0, table)
    monkeypatch.setattr("dev.subprocess.run", recorder)

    assert dev.main(["test", "--coverage", *arguments]) == 1

    measured, report = recorder.commands
    assert "coverage run -m pytest" in measured
    assert measured.endswith(" ".join(arguments or ["tests/unit tests/gui"]))
    assert "coverage report --sort=cover" in report
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["Name Stmts Miss Cover", "----", *modules[:10], "----", "TOTAL 300 150 50%"]


def test_lint_runs_the_checks_without_the_tests(recorder: Recorder) -> None:
    dev.main(["lint"])

    assert not any("pytest" in line for line in recorder.commands)
    assert len(recorder.commands) == 4


@pytest.mark.parametrize(
    ("is_ci", "was_run", "keeps"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_a_bare_clone_in_ci_keeps_nothing_of_mypy(
    is_ci: bool,
    was_run: bool,
    keeps: bool,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.delenv("CI", raising=False)
    if is_ci:
        monkeypatch.setenv("CI", "true")
    if was_run:
        (tmp_path / ".mypy_cache").mkdir()

    dev.main(["lint"])

    (mypy,) = [line for line in recorder.commands if "mypy" in line]
    assert ("--cache-dir" not in mypy) is keeps


def test_passing_steps_exit_with_0(
    monkeypatch: pytest.MonkeyPatch, ready: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dev.subprocess.run", Recorder())

    assert dev.main(["lint"]) == 0
    assert "All steps passed." in capsys.readouterr().err


def test_the_manual_is_checked_and_its_site_built(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    installed: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        Ready, "pip", lambda _self, *arguments: installed.append(arguments), raising=False
    )
    monkeypatch.setattr(Ready, "constraints", "pins", raising=False)

    assert dev.main(["docs", "--check", "--site"]) == 0
    assert installed == [("install", "-c", "pins", "zensical")]
    assert recorder.commands[0].endswith("reference.py --check")
    assert recorder.commands[1] == "python -m zensical build --strict"


def test_names_and_options_reach_the_benchmarks(recorder: Recorder) -> None:
    dev.main(["bench", "ingest", "--json"])

    assert recorder.commands == ["python -m tests.benchmarks ingest --json"]


def test_a_folder_and_screens_reach_the_pictures(recorder: Recorder) -> None:
    dev.main(["pictures", "out", "1280x800"])

    assert recorder.commands == ["python -m tests.gui.pictures out 1280x800"]


def test_what_follows_run_is_the_programs(monkeypatch: pytest.MonkeyPatch, ready: None) -> None:
    passed: list[Sequence[str]] = []

    def remember(_environment: object, arguments: Sequence[str]) -> int:
        passed.append(arguments)
        return 7

    monkeypatch.setitem(dev.PASSING_ON, "run", remember)

    assert dev.main(["run", "--help", "--", "node", "--version"]) == 7
    assert passed == [["--help", "--", "node", "--version"]]


def test_what_the_person_has_to_do_is_a_sentence_and_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_self: object) -> None:
        raise SetupError("Install it")

    monkeypatch.setattr(Ready, "ensure", refuse)
    monkeypatch.setattr(dev, "Environment", Ready)

    assert dev.main(["lint"]) == 1
    assert capsys.readouterr() == ("", "dev.py: Install it\n")


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        dev.main(["tset"])

    assert caught.value.code == 2
    assert "setup" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ([], ["build_distributions"]),
        (["--bundle"], ["build_archive"]),
        (["--deb"], ["build_archive", "build_package"]),
        (["--image"], ["build_image None"]),
        (["--image", "python:3.14-slim"], ["build_image python:3.14-slim"]),
        (["--all"], ["build_all"]),
    ],
)
def test_what_is_asked_for_is_built(
    monkeypatch: pytest.MonkeyPatch, ready: None, options: list[str], steps: list[str]
) -> None:
    built: list[str] = []

    def step(name: str) -> Callable[..., int]:
        def run(_environment: Ready, *values: object) -> int:
            built.append(" ".join([name, *map(str, values)]))
            return 0

        return run

    for name in dir(forms):
        if name.startswith("build_"):
            monkeypatch.setattr(forms, name, step(name))
    assert dev.main(["build", *options]) == 0
    assert built == steps


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_the_integration_script_calls_the_test_command() -> None:
    script = ROOT / ".ci" / "run"

    assert os.access(script, os.X_OK)
    assert "python3 packaging/dev.py test" in script.read_text(encoding="utf-8")


def test_the_table_of_libraries_knows_what_the_workflow_installs() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")

    installed = re.findall(r"\blib[a-z][\w.-]*\b", workflow[workflow.index("apt-get install") :])
    assert len(installed) > 10
    known = {packages.debian for packages in PACKAGES.values()}
    assert [name for name in installed if name not in known] == []


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_same_versions_of_python_are_named_everywhere() -> None:
    project = _project()["project"]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    versions = [f"3.{minor}" for minor in range(dev.OLDEST[1], dev.NEWEST[1] + 1)]
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))

    assert project["requires-python"] == f">={versions[0]},<3.{dev.NEWEST[1] + 1}"
    assert classified == versions
    assert f"python: {json.dumps(versions)}" in workflow
    assert dev.OLDEST == environment.OLDEST


def _constraints() -> list[str]:
    text = (ROOT / "packaging" / "constraints.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_every_dependency_is_pinned_to_one_version() -> None:
    project = _project()["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=;\[ ]", line, maxsplit=1)[0].lower() for line in asked}
    pinned = {line.partition("==")[0] for line in _constraints()}

    assert names - pinned == set()


def test_a_constraint_is_a_name_a_version_and_at_most_a_marker() -> None:
    marker = r"(; (sys_platform == '\w+'|python_version < '3\.1\d'))?"
    shape = re.compile(rf"[a-z0-9-]+==[0-9][0-9a-z.]*{marker}")

    assert [line for line in _constraints() if not shape.fullmatch(line)] == []


class Beside:
    """A part that runs beside others; that of some of the real processes fails."""

    made: ClassVar[list[Beside]] = []
    most_at_a_time = 0
    failed_tests: ClassVar[list[str]] = []
    passes_alone = False
    took_s = 1.0

    def __init__(
        self, name: str, command: Sequence[str], _folder: Path, environ: Mapping[str, str]
    ) -> None:
        self.name = name
        self.command = command
        self.environ = environ
        self.was_stopped = False
        self.is_over = False
        self.gives_way = False
        self.made.append(self)
        running = sum(not part.is_over for part in self.made)
        type(self).most_at_a_time = max(running, self.most_at_a_time)

    def give_way(self) -> None:
        """Remember that others go first."""
        self.gives_way = True

    def has_ended(self) -> bool:
        """Each ends at once."""
        return True

    def succeeds(self) -> bool:
        """Fail where some of the real processes are tested, and leave the names of the tests."""
        self.is_over = True
        if self.name == "pytest tests/integration (2 of 4), again":
            return self.passes_alone
        if self.name != "pytest tests/integration (2 of 4)":
            return True
        (cache,) = [word[10:] for word in self.command if word.startswith("cache_dir=")]
        Path(cache, "v", "cache").mkdir(parents=True)
        found = json.dumps(dict.fromkeys(self.failed_tests, True))
        Path(cache, "v", "cache", "lastfailed").write_text(found)
        return False

    def stop(self) -> None:
        """Remember that it was stopped."""
        self.was_stopped = True


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, ready: None) -> list[Beside]:
    """The parts that run side by side."""
    monkeypatch.setattr(dev, "Beside", Beside)
    monkeypatch.setattr(dev, "ForkedTests", Beside)
    monkeypatch.setattr(dev, "_AT_A_TIME", {False: 2, True: 1})
    monkeypatch.setattr(dev, "_LOOK_S", 0.0)
    monkeypatch.setattr(Beside, "made", [])
    monkeypatch.setattr(Beside, "most_at_a_time", 0)
    return Beside.made


def test_parts_of_the_tests_run_side_by_side_and_each_can_fail(
    parts: list[Beside], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dev.main(["test"]) == 1

    names = ["pytest tests/integration", "pytest tests/gui", "pytest all other tests"]
    shares = [f"{name} ({share} of 4)" for name in names for share in (1, 2, 3, 4)]
    (waiting,) = {part.name for part in parts} - {"lint", *shares}
    assert waiting.startswith("pytest tests/strangers, ")
    assert parts[0].command[-1] == "lint"
    assert [part.name for part in parts if part.gives_way] == ["lint", *shares[-4:]]
    first = [part.name for part in parts if not part.gives_way]
    assert first == [*shares[:4], waiting, *shares[4:-4]]
    assert Beside.most_at_a_time == 3
    assert capsys.readouterr().err == "Failed: pytest tests/integration (2 of 4)\n"


@pytest.mark.skipif(not CAN_FORK, reason="forks")
def test_all_tests_run_from_the_environment_whose_modules_they_share(
    parts: list[Beside], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []

    def replace(_program: str, arguments: list[str]) -> None:
        ran.append(arguments)
        raise SystemExit

    monkeypatch.setattr(Ready, "is_current", False)
    monkeypatch.setattr("dev.os.execv", replace)
    with pytest.raises(SystemExit):
        dev.main(["test"])
    assert ran == [["python", str(ROOT / "packaging" / "dev.py"), "test"]]
    assert parts == []


@pytest.mark.parametrize(
    ("tests", "is_steady", "took_s", "code"),
    [
        (["tests/test_a.py::test_1"], False, 1.0, 0),
        (["tests/test_a.py::test_1"], True, 1.0, 1),
        (["tests/test_a.py::test_1"], False, 780.0, 1),
        ([f"tests/test_a.py::test_{number}" for number in range(4)], False, 1.0, 1),
        ([], False, 1.0, 1),
    ],
    ids=["passes", "fails again", "some did not run", "many", "none"],
)
def test_the_few_that_failed_are_run_once_more_alone(
    tests: list[str],
    is_steady: bool,
    took_s: float,
    code: int,
    parts: list[Beside],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Beside, "failed_tests", tests)
    monkeypatch.setattr(Beside, "passes_alone", not is_steady)
    monkeypatch.setattr(Beside, "took_s", took_s)

    assert dev.main(["test"]) == code
    again = [part for part in parts if part.name.endswith(", again")]
    assert [part for part in parts if "--assert=plain" not in part.command] == [parts[0], *again]
    printed = capsys.readouterr().err
    assert printed.startswith("UNSTEADY: " if code == 0 else "Failed: ")
    assert all(name in printed for name in tests if code == 0)


def test_every_file_of_tests_is_in_one_part(parts: list[Beside]) -> None:
    dev.main(["test"])
    files = [word for part in parts for word in part.command if word.endswith(".py")]
    shared = [file for file in files if file.startswith("tests/")]
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    whole = "tests/architecture/"
    assert sorted(shared) == sorted(file for file in found if not file.startswith(whole))
    assert sum(part.command.count("tests/architecture") for part in parts) == 1


def test_tests_may_keep_compiled_modules_whatever_the_machine_says(
    monkeypatch: pytest.MonkeyPatch, parts: list[Beside]
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    dev.main(["test"])

    forbidding = "PYTHONDONTWRITEBYTECODE"
    assert all("PATH" in part.environ and forbidding not in part.environ for part in parts)


@pytest.mark.parametrize("room", [0, 2**50], ids=["none", "much"])
def test_what_tests_make_is_in_memory_where_that_has_room(
    room: int, monkeypatch: pytest.MonkeyPatch, parts: list[Beside], tmp_path: Path
) -> None:
    monkeypatch.setattr(dev, "_MEMORY", tmp_path)
    monkeypatch.setattr(dev, "_ROOM", 2**40 - room)
    monkeypatch.delenv("TMPDIR", raising=False)

    dev.main(["test"])

    folders = {Path(part.environ["TMPDIR"]).parent for part in parts if "TMPDIR" in part.environ}
    assert folders == ({tmp_path} if room else set())
    assert not list(tmp_path.iterdir())


def test_an_interrupt_lets_every_part_that_runs_say_what_it_was_at(
    monkeypatch: pytest.MonkeyPatch, parts: list[Beside]
) -> None:
    def interrupted(_self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Beside, "has_ended", interrupted)
    monkeypatch.setattr("dev.signal.signal", lambda *_: None)

    assert dev.main(["test"]) == 130
    assert [part.was_stopped for part in parts] == [True] * 3
