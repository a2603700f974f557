"""The command line: arguments in, exit code out, and never a traceback for the user."""
