"""Winners of stored studies: which one serves a shape, and what has none yet."""
