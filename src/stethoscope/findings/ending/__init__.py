"""How a run was cut short: what its output says about the end."""
