"""One server's session: connect, negotiate, exchange messages, stay alive, reconnect."""
