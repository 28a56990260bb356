"""LLVM IR as text: its values, types and instructions, and what is known of them."""
