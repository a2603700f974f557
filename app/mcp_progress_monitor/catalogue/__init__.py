"""The saved servers, other clients' configurations, and what the user has approved."""
