"""Questions of servers, answered without a window."""
