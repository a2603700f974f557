"""The manual, the report of a defect, and what this program is made of."""
