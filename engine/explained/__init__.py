"""Why a winner won: the cycles of configurations by cause and by source line."""
