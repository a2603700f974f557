"""`servers`: the saved servers, their approval, import and export."""
