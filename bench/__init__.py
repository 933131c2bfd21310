"""Benchmarks: the product beside hand-written code and beside a peer, on the same machine at once.

Run `python -m bench` from a checkout. Only ratios within one run mean anything.
"""
