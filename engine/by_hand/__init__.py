"""Tuning by hand: a folder is copied to a board, run there, copied back and collected."""
