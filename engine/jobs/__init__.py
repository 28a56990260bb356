"""Jobs over many shapes: reads lists of sizes, tunes them one after another, writes the results."""
