"""Messages, ticks and reports for others, without secrets unless asked for."""
