"""What the page shows, one kind of kernel to a file."""
