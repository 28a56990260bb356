"""Tests of GPUs: the files beside this one can be imported by their names."""
