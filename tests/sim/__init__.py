"""The deterministic simulator: the product's own code, a real database, and one seed for the rest.

`docs/simulation.md` says what it does, what it cannot find, and how to play a seed again.
"""
