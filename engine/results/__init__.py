"""What a study found, one file an output."""
