"""Jobs over many shapes: lists of sizes in files, tuned one after another, and what comes of it."""
