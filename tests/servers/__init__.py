"""Test servers: the demo server with every kind of fault, on stdio and over HTTP.

`python -m tests.servers --help` lists the options. Each tool is a small function with a row in a
table in `tools/`. `server.py` has faults of the whole server, `http/` the HTTP transports.
"""
