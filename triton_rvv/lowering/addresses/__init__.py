"""Blocks of addresses and masks as functions of an element's indices.

Code asks one thing how elements lie: `Affine`, a base and what each dimension adds. Its numbers are
those of the program that runs, and where a stride holds on some paths only, so is its guard. What
decides before code is written asks the sums of `ttir/access_functions.py`, which have names in
place of numbers: which loads are streams, which loop moves what, what the next program reads.
Neither can take the other's place: a stride that is told at run time has no name in the IR, and
passes rewrite the IR before there is code.
"""
