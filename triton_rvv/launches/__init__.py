"""Watches the launches of Triton kernels in a program: records them, or changes them.

It runs inside of a program that is not the project's, so it imports nothing but Triton, torch and
its own package.
"""
