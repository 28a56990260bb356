"""Used by every layer: errors, configurations, shapes, input files and the command line."""
