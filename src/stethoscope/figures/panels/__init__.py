"""How each kind of panel is laid out and drawn as SVG."""
