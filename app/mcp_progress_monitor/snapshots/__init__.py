"""Immutable values about servers, questions and limits that views and sessions both know."""
