"""Desktop notifications, tray icon, task bar and the mini window: jobs seen from elsewhere."""
