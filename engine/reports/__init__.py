"""A study as one HTML page."""
