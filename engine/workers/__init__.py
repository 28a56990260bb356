"""Workers: builds in Ray processes, and the boards that measure what they built."""
