"""Cost tables of cores, made from published measurements or from those of a board."""
