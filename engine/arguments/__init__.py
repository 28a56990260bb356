"""Arguments that several commands share, and the options that they set."""
