"""Prints and exports the result of a study, one file per output."""
