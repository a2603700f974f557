"""Every benchmark at its smallest: it runs to its end and yields all of its figures."""

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from tests.benchmarks import figures as contest
from tests.benchmarks import suites
from tests.benchmarks.__main__ import main
from tests.benchmarks.figures import Figure, Size

LOSS = "lost"
"""Figures of this name count what went wrong."""
UNKNOWN = () if Path("/proc/self/schedstat").exists() else ("waiting_for_cpu", "memory")
"""Figures that begin so are missing on some systems."""


def wrong(figures: Sequence[Figure]) -> list[Figure]:
    """Those that no healthy run yields, however slow the machine is."""
    return [
        figure
        for figure in figures
        if not (_is_sound(figure.value, is_loss=figure.name.endswith(LOSS)))
        and not (figure.value is None and figure.name.startswith(UNKNOWN))
    ]


def _is_sound(value: float | None, *, is_loss: bool) -> bool:
    return value is not None and math.isfinite(value) and (value == 0 if is_loss else value >= 0)


class Together:
    """All contenders in one process: starting thirty takes longer than all they do."""

    def __init__(self, process: subprocess.Popen[str], complaints: IO[bytes]) -> None:
        self._process = process
        self._complaints = complaints
        self._yielded: dict[tuple[str, ...], dict[str, Any]] = {}

    def __call__(self, name: str, *arguments: str) -> dict[str, Any]:
        """Run one contender after those before; once, whatever its numbers: the code is the same.

        A run at another size is for figures of growth, which mean nothing at the smallest.
        """
        key = (name, *(word for word in arguments if not word.replace(".", "").isdecimal()))
        if key not in self._yielded:
            self._yielded[key] = self._run(name, *arguments)
        return self._yielded[key]

    def _run(self, name: str, *arguments: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{name} {arguments} ended with {self._process.wait()}:\n{self._said()}"
        figures = json.loads(line)
        assert isinstance(figures, dict)
        return figures

    def _said(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().decode()


@pytest.fixture(scope="module")
def together() -> Iterator[Together]:
    """Start the process that all contenders share."""
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            contest.CONTENDER, stdin=pipe, stdout=pipe, stderr=complaints, text=True
        ) as process,
    ):
        try:
            yield Together(process, complaints)
        finally:
            process.kill()


_QUICK = {"latency", "watch", "tokens"}


@pytest.mark.parametrize(
    "name",
    [
        name if name in _QUICK else pytest.param(name, marks=pytest.mark.campaign)
        for name in suites.SUITES
    ],
)
def test_a_benchmark_runs_and_yields_sound_figures(
    name: str, together: Together, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "run_contender", together)

    figures = suites.SUITES[name](Size.TINY)

    assert figures
    assert not wrong(figures)
    assert len({figure.name for figure in figures}) == len(figures)


def test_a_contender_has_a_process_of_its_own() -> None:
    assert contest.contend("bare", 100, 1, "plain")["rate"] > 0


def test_a_contender_that_fails_is_quoted() -> None:
    with pytest.raises(RuntimeError, match="no-such"):
        contest.contend("no-such")


def test_figures_are_printed_as_one_json_object_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Size] = []

    def measured(size: Size) -> list[Figure]:
        seen.append(size)
        return [Figure("rate", 12.5, "/s"), Figure("lost", None, "")]

    monkeypatch.setattr(suites, "SUITES", {"one": measured, "two": measured})

    assert main(["two", "--json", "--quick"]) == 0
    assert json.loads(capsys.readouterr().out) == {"benchmark": "two", "rate": 12.5, "lost": None}
    assert seen == [Size.QUICK]


def test_an_unknown_benchmark_is_refused_with_the_names_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["no-such"])

    assert refusal.value.code == 2
    assert "unknown benchmark 'no-such'; there are: ingest," in capsys.readouterr().err
