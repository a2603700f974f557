"""A stand-in for ``subprocess.run`` that starts nothing and remembers what was asked."""

import subprocess
from collections.abc import Callable, Sequence
from typing import Any


class Recorder:
    """Answers every command with exit code 0, or with what `answer` says for it."""

    def __init__(self, answer: Callable[[str], int] = lambda _: 0, output: str = "") -> None:
        self.commands: list[str] = []
        self.environments: list[dict[str, str] | None] = []
        self._answer = answer
        self._output = output

    def __call__(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Remember the command and its variables; return what running it would have."""
        line = " ".join(map(str, command))
        self.commands.append(line)
        self.environments.append(options.get("env"))
        return subprocess.CompletedProcess(command, self._answer(line), self._output, "")
