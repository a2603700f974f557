"""A recording as the window sees a session: the same jobs, findings and messages, read-only."""
