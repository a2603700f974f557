"""The stdio tap: passes bytes between a client and its server, and records them.

Imports only the standard library: a client waits for the tap to start, and updating or removing the
program must not affect a running session. What it needs from the rest of the program is passed as
functions (`Rest`), which its journal calls after the server has started.

`typing` and similar modules are not imported before the server starts: each takes milliseconds.
"""
