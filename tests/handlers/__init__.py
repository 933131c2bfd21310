"""How messages leave: the event, the guard, the senders."""
