"""The deliveries: how a claimed message reaches the code that acts on it."""
