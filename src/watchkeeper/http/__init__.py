"""The HTTP edge: parse, call one action or one view, render."""
