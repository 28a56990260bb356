"""Arguments that several commands share, and what they stand for."""
