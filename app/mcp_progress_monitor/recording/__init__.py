"""Every frame on disk: written as it comes, found again through an index in memory."""
