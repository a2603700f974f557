"""Standard error of servers."""
