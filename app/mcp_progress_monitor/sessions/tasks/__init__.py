"""Tasks at servers: followed to their end, listed, cancelled."""
