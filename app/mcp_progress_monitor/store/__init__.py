"""What must survive a restart: SQLite files that only the user can read."""
