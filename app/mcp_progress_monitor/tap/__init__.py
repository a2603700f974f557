"""The stdio tap: passes bytes between a client and its server, and keeps a recording of them.

Standard library only, and nothing else of the application: a client waits for this to start, and
an update or removal of the program must not touch a session that runs. What it needs to know from
the rest, it is handed as functions (`Rest`), which its journal calls when the server has started.

`typing` and the like are not imported on the way to the server's start: each costs milliseconds.
"""
