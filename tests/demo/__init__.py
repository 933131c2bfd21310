"""The demo, played for a few seconds."""
