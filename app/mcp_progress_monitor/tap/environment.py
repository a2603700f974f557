"""The environment that the client gave its server, byte for byte, in the same order."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HANDED = "MCP_TAP_ENVIRON"
"""The variable in which the shell of an installed entry hands over its own environment, in base64.

Some shells pass on no variable whose name is not an identifier, and correct PWD.
"""
_OWN = "/proc/self/environ"


class Environment:
    """Entries `NAME=VALUE`, and whatever else a client has put among them.

    A mapping for `os.posix_spawn` and `os.execve`, in which a name may occur twice.
    """

    def __init__(self, entries: Iterable[bytes]) -> None:
        self.entries = tuple(entries)

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Environment:
        return cls(os.fsencode(f"{name}={value}") for name, value in variables.items())

    @property
    def variables(self) -> dict[str, str]:
        """The variables by name."""
        pairs = zip(self.keys(), self.values(), strict=True)
        return {os.fsdecode(name): os.fsdecode(value) for name, value in pairs if name}

    @property
    def is_plain(self) -> bool:
        """True if a mapping can represent all entries: each has a name, which is not empty."""
        return all(entry.find(b"=") > 0 for entry in self.entries)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return (os.fsdecode(name) for name in self.keys() if name)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: bytes) -> bytes:
        return self.values()[self.keys().index(name)]

    def keys(self) -> list[bytes]:
        return [entry.partition(b"=")[0] if b"=" in entry else b"" for entry in self.entries]

    def values(self) -> list[bytes]:
        return [entry.partition(b"=")[2] for entry in self.entries]


def handed_environment() -> Environment | None:
    """The environment of the shell that started this process, if it handed that over whole."""
    text = os.environ.get(HANDED)
    if not text:
        return None
    import binascii

    try:
        content = binascii.a2b_base64(text)
    except ValueError:
        return None
    return _of_block(content) if content.endswith(b"\0") else None


def own_environment() -> Environment:
    """The environment with which this process was started, without what is for the tap alone.

    Python adds a variable to its own by default, LC_CTYPE.
    """
    try:
        with open(_OWN, "rb") as file:  # noqa: PTH123  # pathlib takes long to import
            found = _of_block(file.read())
    except OSError:  # not Linux
        found = Environment.of(os.environ)
    mark = f"{HANDED}=".encode()
    return Environment(entry for entry in found.entries if not entry.startswith(mark))


def _of_block(content: bytes) -> Environment:
    """The environment in a block of strings that each end with a null."""
    return Environment(content.split(b"\0")[:-1])
