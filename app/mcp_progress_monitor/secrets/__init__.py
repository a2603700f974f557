"""Secrets of servers: references to them, the system's keyring, OAuth tokens."""
