"""Charts: scales, drawings, and what is written of them."""
