"""A user's own kernel file: read, run by Triton's interpreter, and made an entry of its own."""
