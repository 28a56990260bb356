"""What every layer needs: errors, configurations, shapes, documents and the command line."""
