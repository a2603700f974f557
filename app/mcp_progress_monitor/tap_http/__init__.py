"""The tap for HTTP servers: a local reverse proxy that records what passes."""
