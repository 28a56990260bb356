"""Blocks of addresses and masks as functions of an element's indices."""
