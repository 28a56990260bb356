"""The tuning engine: asks a search, builds, measures and tells."""
