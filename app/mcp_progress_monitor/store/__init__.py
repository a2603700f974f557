"""Data that survives a restart: SQLite files that only the user can read."""
