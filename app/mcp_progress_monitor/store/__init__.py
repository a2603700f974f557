"""The disk: what must survive a restart, in files that only the user can read."""
