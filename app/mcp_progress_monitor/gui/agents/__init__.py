"""The room of agents that read: what they read, the switch, and letting one in."""
