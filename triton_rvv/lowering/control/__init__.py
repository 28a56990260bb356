"""Functions, loops and branches."""
