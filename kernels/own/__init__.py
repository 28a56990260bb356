"""A user's own kernel file: reads it, runs it in Triton's interpreter, and makes a KernelSpec."""
