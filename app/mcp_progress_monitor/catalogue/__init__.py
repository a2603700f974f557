"""The saved servers: what is kept of each, other clients' configurations, what may run."""
