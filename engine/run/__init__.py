"""One run of a study: propose, build, measure, learn, sum up."""
