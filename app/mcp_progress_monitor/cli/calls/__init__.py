"""Commands that connect to a server: calls, requests, lists, tasks, resume."""
