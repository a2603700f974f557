"""Immutable values about servers, questions and limits, shared by views and sessions."""
