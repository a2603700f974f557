"""The server log: messages of `notifications/message`."""
