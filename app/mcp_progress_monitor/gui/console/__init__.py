"""What servers write to their standard error."""
