"""Every frame on disk: written as it arrives, found again through an index in memory."""
