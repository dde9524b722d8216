"""What was observed and what happened, written beside the run and handed on."""
