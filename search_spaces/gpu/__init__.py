"""Search spaces for GPUs, one file per kernel; folders hold more spaces, chosen by their name."""
