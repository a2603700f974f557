"""What is handed to others: messages, ticks and reports, without secrets unless asked for."""
