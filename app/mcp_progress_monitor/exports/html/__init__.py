"""The HTML report of a job or a session: one file that loads nothing and runs nothing."""
