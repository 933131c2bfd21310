"""Rules of the house that a linter cannot hold."""
