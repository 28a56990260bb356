"""Winners of stored studies: which one serves a shape, and which shapes have none yet."""
