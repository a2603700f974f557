"""The demo server over HTTP: the same tools, behind sockets in place of pipes."""
