"""The tasks that a server knows."""
