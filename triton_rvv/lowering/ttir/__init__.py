"""What is found in TTIR before any code is written, and rewrites of it."""
