"""Test servers: the bundled demo server, with every way to misbehave, on stdio and over HTTP.

`python -m tests.servers --help` lists the options. A tool is a small function with a row in a table
in `tools/`; `profiles.py` breaks the server as a whole, `http/` is what HTTP adds.
"""
