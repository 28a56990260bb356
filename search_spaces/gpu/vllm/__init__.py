"""Search spaces whose configurations vLLM's own kernels can run."""
