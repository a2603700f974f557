"""A short name for a server that has none: what its command runs, not the interpreter."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERPRETERS = frozenset(
    [
        "python",
        "pythonw",
        "pypy",
        "py",
        "pyw",
        "node",
        "nodejs",
        "bun",
        "deno",
        "tsx",
        "ruby",
        "perl",
        "php",
        "java",
        "sh",
        "bash",
        "zsh",
        "npx",
        "bunx",
        "uv",
        "uvx",
        "pipx",
        "poetry",
        "npm",
        "pnpm",
        "yarn",
        "env",
    ]
)
"""Programs that run another one, which their arguments name; without their versions."""
_STEPS = frozenset({"run", "exec", "dlx", "tool", "x", "start"})  # arguments before that name
_COMMON = frozenset({"server", "main", "index", "app", "cli", "__main__", "mcp", "run"})
_ENDINGS = (
    ".exe",
    ".cmd",
    ".bat",
    ".py",
    ".pyz",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".rb",
    ".jar",
    ".sh",
)


def name_of(command: Sequence[str]) -> str:
    """The name of the script, module or package that `command` runs, or else of its program.

    A script with a common name, such as `server.py`, is called by its folder.
    """
    program = _stem(command[0])
    if program.casefold().rstrip("0123456789.") not in _INTERPRETERS:
        return program or command[0] or "server"
    arguments = [each for each in command[1:] if each not in _STEPS]
    named = next((each for each in arguments if each and not each.startswith("-")), "")
    return _named(named) if _is_name(named) else program


def _is_name(text: str) -> bool:
    """False for code, as after `-c`, and for assignments, as after `env`."""
    return bool(text) and not any(char.isspace() or char in "=;(){}'\"" for char in text)


def _named(path: str) -> str:
    stem = _stem(path)
    folder = _parts(path)[-2:-1]
    if stem.casefold() in _COMMON and folder and folder[0] not in {".", ".."}:
        return folder[0]
    return stem or path


def _stem(path: str) -> str:
    """The last part of a path or package, without its ending and its version."""
    last = (_parts(path) or [""])[-1]
    last = last[:1] + last[1:].partition("@")[0]
    ending = next((each for each in _ENDINGS if last.lower().endswith(each)), "")
    return last[: len(last) - len(ending)] if len(ending) < len(last) else last


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part]
