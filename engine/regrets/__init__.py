"""What it costs to run one board's winner on another."""
