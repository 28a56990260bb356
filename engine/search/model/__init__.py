"""What the search knows of a space: its candidates, their outcomes, and surrogates of both."""
