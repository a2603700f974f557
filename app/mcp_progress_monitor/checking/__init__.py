"""Judging whole sessions: what took part in them, rule by rule, live or recorded."""
