"""Parts of references: inputs and exact results that several kernels or tests share."""
