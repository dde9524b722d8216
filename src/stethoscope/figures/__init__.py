"""Pictures of numbers, drawn without a plotting library: as SVG, PNG, HTML and in the terminal."""
