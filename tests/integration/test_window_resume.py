"""A window that is killed in the middle of a job goes on with it when it is opened again."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.resuming_window import CHUNKS
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="kills processes as Linux does"
)


def _window(role: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.resuming_window", role, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _until_ready(window: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert window.stdout is not None
    for line in window.stdout:
        said = json.loads(line)
        if said == {"ready": True}:
            return
        yield said
    raise AssertionError(window.communicate()[1])


def _killed(role: str, folder: Path) -> list[dict[str, Any]]:
    """Open a window, let it play until it is ready, and kill it; what it said."""
    window = _window(role, folder)
    try:
        return list(_until_ready(window))
    finally:
        window.kill()
        window.communicate()


def _finished(folder: Path) -> list[dict[str, Any]]:
    window = _window("finish", folder)
    reported, errors = window.communicate(timeout=PATIENCE_S)
    said = [line for line in errors.splitlines() if "This plugin does not support" not in line]
    assert (window.returncode, said) == (0, [])
    return [json.loads(line) for line in reported.splitlines()]


def _states(said: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(s["state"], s["progress"], s["attempts"]) for s in said if "state" in s]


def _requests(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["sent"] for line in said if "sent" in line]


def _bare(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what may differ between attempts."""
    meta = {k: v for k, v in request["params"]["_meta"].items() if k != "resumeToken"}
    params = {**request["params"], "_meta": meta}
    return {**{k: v for k, v in request.items() if k != "id"}, "params": params}


@pytest.mark.parametrize(
    ("role", "restored"),
    [
        pytest.param("begin", ("Resumable", 10, 2), marks=pytest.mark.campaign),
        ("begin-and-go-on", ("Resumable", 5, 2)),
    ],
)
def test_an_export_whose_window_was_killed_completes_with_every_chunk_once(
    data_dir: Path, role: str, restored: tuple[str, int, int]
) -> None:
    before = _killed(role, data_dir)
    after = _finished(data_dir)
    states = _states(after)
    assert states[0] == restored
    assert states[-1][:2] == ("Done", CHUNKS)
    written = (data_dir / "work" / "nightly.txt").read_text().splitlines()
    assert written == [f"chunk {number}" for number in range(1, CHUNKS + 1)]
    requests = [*_requests(before), *_requests(after)]
    assert len(requests) == states[-1][2]
    assert all(_bare(request) == _bare(requests[0]) for request in requests)
    tokens = [request["params"]["_meta"].get("resumeToken") for request in requests]
    assert tokens[0] is None
    assert None not in tokens[1:]
