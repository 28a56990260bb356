"""Loops over the elements of a block, and their versions for tails, edges and wrapped rows."""
