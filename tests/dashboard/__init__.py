"""The dashboard, asked as a browser and a stranger would ask it."""
