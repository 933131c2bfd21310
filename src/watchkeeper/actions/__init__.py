"""The deeds. One verb a file: begin the transaction, make the move, commit."""
