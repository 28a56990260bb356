"""From LLVM IR to objects and executables."""
