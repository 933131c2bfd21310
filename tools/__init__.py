"""What the checkout needs beside the product."""
