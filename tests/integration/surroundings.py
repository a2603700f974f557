"""A client that starts a program in odd surroundings: `… surroundings.py FILE COMMAND…`.

FILE is a JSON document of `Surroundings`. Becomes the program, so that nothing else changes.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import TypedDict

_DROP = 24  # PR_CAPBSET_DROP
_UNLIMITED = (21, 24)  # CAP_SYS_ADMIN, CAP_SYS_RESOURCE


class Surroundings(TypedDict, total=False):
    """What a process inherits; strings stand for bytes, as in Latin-1."""

    environment: list[str]
    folder: str
    is_folder_deleted: bool
    ignored: list[int]
    blocked: list[int]
    files: list[int]
    limits: dict[str, int]
    umask: int
    niceness: int
    user: int


def main() -> None:
    """Be the client."""
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123  # as few imports as possible
        given: Surroundings = json.load(file)
    for number in range(3, 32):
        with contextlib.suppress(OSError):
            os.close(number)
    for number in given.get("files", ()):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
        os.set_inheritable(number, True)
    if "folder" in given:
        os.chdir(given["folder"])
        if given.get("is_folder_deleted"):
            os.rmdir(given["folder"])  # noqa: PTH106
    os.umask(given.get("umask", 0o022))
    os.nice(given.get("niceness", 0))
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    for number in given.get("ignored", ()):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, given.get("blocked", ()))
    system = ctypes.CDLL(None, use_errno=True)
    if "user" in given:  # as root has no limits, be limited as another user that may read all files
        for capability in _UNLIMITED:
            system.prctl(_DROP, capability, 0, 0, 0)
        os.setresuid(given["user"], 0, 0)
    for name, limit in given.get("limits", {}).items():
        kind = getattr(resource, name)
        resource.setrlimit(kind, (limit, limit))
    texts = [os.fsencode(word) for word in sys.argv[2:]]
    entries = [entry.encode("latin-1") for entry in given["environment"]]
    system.execve(texts[0], _strings(texts), _strings(entries))
    raise OSError(ctypes.get_errno(), sys.argv[2])


def _strings(arguments: list[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)


if __name__ == "__main__":
    main()
