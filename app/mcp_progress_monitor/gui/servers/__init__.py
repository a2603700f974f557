"""The servers: list, editor, approval, sign-in, import and export, and the connection doctor."""
