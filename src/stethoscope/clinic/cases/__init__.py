"""One folder per patient: a small training project, its sick settings and its cure."""
