"""The tap for servers by URL: a reverse proxy on this machine that records what passes."""
