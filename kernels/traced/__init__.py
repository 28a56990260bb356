"""A user's kernel as a function of arrays and sizes: what its file launches, as formulas of sizes.

The file's own functions run once with sizes that stand for any (torch's symbolic shapes), so that
what they compute is known as formulas, and each decision that they take by sizes as a condition.
"""
