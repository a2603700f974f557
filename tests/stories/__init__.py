"""What people do with the window, done with a mouse and a keyboard under a window manager."""
