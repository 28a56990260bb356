"""Repeated measurements: when to stop, and which of the leaders is fastest."""
