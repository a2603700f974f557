"""A client of a tap that can be killed: starts it with a server, sends lines, reads what comes.

    … tap_victims.py TAP… -- SERVER…

Prints the tap's process id to standard error, then runs until its server or its tap has ended.
With MONITOR_TAP_LOGS, appends what it has read to the file of that folder named like the tap's id.
Standard library and few imports: hundreds of them are started.
"""

import itertools
import os
import sys
import threading
import time

_LINE = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}\n'
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
    logs = os.environ.get("MONITOR_TAP_LOGS", "")
    log = os.open(f"{logs}/{tap}", os.O_WRONLY | os.O_CREAT) if logs else os.open(os.devnull, 1)
    while data := os.read(from_server, 65536):
        os.write(log, data)
        time.sleep(_PAUSE_S)
    os.waitpid(tap, 0)
    os._exit(0)


def _send(to_server: int) -> None:
    try:
        for number in itertools.count():
            os.write(to_server, _LINE % number)
            time.sleep(_PAUSE_S)
    except OSError:
        return


if __name__ == "__main__":
    main()
