"""Stored studies: their trials, their owners, and the history they warm-start from."""
