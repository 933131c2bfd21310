"""The decisions. Pure functions over frozen values: no clock, no database, no randomness."""
