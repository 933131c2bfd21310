"""The command line, typed as a person would."""
