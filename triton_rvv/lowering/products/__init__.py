"""`tl.dot`: packing, register tiles, and stores of the result."""
