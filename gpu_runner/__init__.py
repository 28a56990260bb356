"""GPUs as boards: kernels built by Triton's own back ends, measured in a process for each GPU."""
