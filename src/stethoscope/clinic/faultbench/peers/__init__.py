"""One file for each tool that is asked about the same runs; being here is the registration."""
