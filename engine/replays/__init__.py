"""Searches replayed on spaces of which every time is recorded, and their scores."""
