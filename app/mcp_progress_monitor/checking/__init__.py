"""Checks live or recorded sessions rule by rule, and reports the results."""
