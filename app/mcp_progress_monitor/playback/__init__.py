"""A recording as the window sees a session: the same jobs, marks and messages, read-only."""
