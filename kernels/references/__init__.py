"""Parts of what is right: inputs and exact results that several kernels or tests share."""
