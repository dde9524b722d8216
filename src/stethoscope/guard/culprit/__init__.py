"""Who spoiled a step: asked only behind a step that is known to be bad."""
