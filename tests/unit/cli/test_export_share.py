"""A terminal sees how far a command is; a pipe sees nothing of it."""

import pytest

from mcp_progress_monitor.cli import export
from mcp_progress_monitor.cli.export import share_line


def _said(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> list[str]:
    said: list[str] = []

    class Errors:
        def __init__(self, _stream: object) -> None:
            self.is_terminal = is_terminal

        def text(self, text: str) -> None:
            said.append(text)

    monkeypatch.setattr(export, "StandardOutput", Errors)
    monkeypatch.setattr(export, "_EVERY_S", 0.0)
    with share_line("Exporting a.csv") as on_share:
        on_share(0.1)
        on_share(0.556)
    return said


def test_the_line_is_written_again_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _said(monkeypatch, is_terminal=True) == [
        "\rExporting a.csv: 10 %",
        "\rExporting a.csv: 56 %",
        f"\r{' ' * 21}\r",
    ]


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _said(monkeypatch, is_terminal=False) == []
