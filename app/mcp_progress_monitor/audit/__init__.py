"""The log of what agents read, and the user's switch for it."""
