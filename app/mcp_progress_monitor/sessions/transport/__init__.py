"""Ways to reach a server: a process over stdio, or HTTP."""
