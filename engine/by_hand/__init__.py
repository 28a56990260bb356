"""Tuning by hand: a folder that is copied to a board, run there, and collected again."""
