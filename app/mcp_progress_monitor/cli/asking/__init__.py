"""Questions of servers on the command line: answered from a file, at the terminal, or declined."""
