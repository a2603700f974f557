"""The texts that window, terminal and reports share, without Qt."""
