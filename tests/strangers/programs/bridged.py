"""A server over HTTP behind a bridge to stdio: ``python bridged.py PORT SERVER… -- BRIDGE…``.

The bridge takes this process's place once the server listens; the server ends with it.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
port, *words = sys.argv[1:]
server, bridge = words[: words.index("--")], words[words.index("--") + 1 :]
null = subprocess.DEVNULL
libc = ctypes.CDLL(None)
subprocess.Popen(
    server,
    stdin=null,
    stdout=null,
    stderr=null,
    preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
)
while True:
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
        break
    except OSError:
        time.sleep(0.05)
os.execvp(bridge[0], bridge)  # noqa: S606
