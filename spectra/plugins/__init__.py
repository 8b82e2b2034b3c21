"""Our kernels in the libraries that people already use, one to a file, each an extra of its own."""
