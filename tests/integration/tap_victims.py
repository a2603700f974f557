"""A client of a tap that can be killed: starts it with a server, sends lines, reads what comes.

    … tap_victims.py TAP… -- SERVER…

Prints the tap's process id to standard error, then runs until its server or its tap has ended.
Standard library and few imports: hundreds of them are started.
"""

from __future__ import annotations

import os
import sys
import threading
import time

_LINE = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n'
_PAUSE_S = 0.003


def main() -> None:
    """Be the client."""
    server_in, to_server = os.pipe()
    from_server, server_out = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, server_in, 0), (os.POSIX_SPAWN_DUP2, server_out, 1)]
    tap = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
    os.close(server_in)
    os.close(server_out)
    os.write(2, b"%d\n" % tap)
    threading.Thread(target=_send, args=(to_server,), daemon=True).start()
    while os.read(from_server, 65536):
        time.sleep(_PAUSE_S)
    os.waitpid(tap, 0)
    os._exit(0)


def _send(to_server: int) -> None:
    try:
        while True:
            os.write(to_server, _LINE)
            time.sleep(_PAUSE_S)
    except OSError:
        return


if __name__ == "__main__":
    main()
