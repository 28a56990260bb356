"""A program's kernels, tuned together: the next trials go where the program gains most."""
