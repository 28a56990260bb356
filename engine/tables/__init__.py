"""Tables of tuned configurations that other programs read: one reader for each format.

A reader has `read(file)`, which returns the rows of a `TableFile`, or None if it is another format.
"""
