"""Recordings: the list of them, and the replay of one."""
