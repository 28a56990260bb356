"""Samplers, one file each; registry.py has their names."""
