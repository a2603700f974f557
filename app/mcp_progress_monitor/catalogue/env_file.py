"""Files of environment variables (`.env`) that entries of other clients name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.catalogue.text_file import read_text
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_CHARACTERS: Final = 1_000_000
_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*", re.DOTALL)
_COMMENT: Final = re.compile(r"\s+#.*")
_ESCAPES: Final = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE: Final = re.compile(r'\\[nrt"\\]')


def read_env_file(path: Path) -> dict[str, str]:
    """Its variables; lines that are none are passed over, as those who load such files do.

    Raises:
        ProblemError: it cannot be read, or is larger than such a file may be.
    """
    words = read_text(path)
    if len(words) > _LARGEST_CHARACTERS:
        raise ProblemError(Problem("The file of variables is too large", str(path)))
    variables: dict[str, str] = {}
    for line in words.splitlines():
        found = None if line.lstrip().startswith("#") else _LINE.fullmatch(line)
        if found is not None and "\0" not in line:
            variables[found[1]] = _value(found[2])
    return variables


def _value(written: str) -> str:
    quote = written[:1]
    if quote in {'"', "'"}:
        end = written.rfind(quote)
        inside = written[1:end] if end > 0 else written
        return _ESCAPE.sub(_unescaped, inside) if quote == '"' and end > 0 else inside
    return _COMMENT.sub("", written)


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPES[found[0]]
