"""Pictures of what happened: runs as one self-contained HTML file, or in the terminal."""
