"""Keeps what passes between a client and a command: ``python spy.py FOLDER COMMAND…``.

In the folder: `in`, `out` and `err`, the bytes, and `code`, how the command ended. Written apart
from the product, so that the two can be compared.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

folder, command = Path(sys.argv[1]), sys.argv[2:]
folder.mkdir(parents=True, exist_ok=True)
server = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, bufsize=0)


def copy(source: int, target: int, name: str, *, closes: bool = False) -> None:
    with (folder / name).open("wb", buffering=0) as file:
        while data := os.read(source, 65536):
            file.write(data)
            try:
                while data:
                    data = data[os.write(target, data) :]
            except OSError:  # nobody reads any more
                break
    if closes:
        os.close(target)


assert server.stdin is not None
assert server.stdout is not None
assert server.stderr is not None
inward = (0, os.dup(server.stdin.fileno()), "in")
server.stdin.close()
threading.Thread(target=copy, args=inward, kwargs={"closes": True}, daemon=True).start()
outward = [
    threading.Thread(target=copy, args=(server.stdout.fileno(), 1, "out")),
    threading.Thread(target=copy, args=(server.stderr.fileno(), 2, "err")),
]
for thread in outward:
    thread.start()
code = server.wait()
for thread in outward:
    thread.join()
(folder / "code").write_text(str(code), encoding="utf-8")
os._exit(code if code >= 0 else 128 - code)
