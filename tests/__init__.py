"""The tests, in layers: core, store, moves, actions, edges, world, house."""
