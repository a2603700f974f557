"""Where a server's code defines its tools, found by reading the code and never by running it."""
