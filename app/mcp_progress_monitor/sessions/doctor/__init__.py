"""Why a server cannot be used: causes with their evidence."""
