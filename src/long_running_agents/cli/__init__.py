"""`lra`: the agent at a terminal. One file per noun; importing a command loads nothing heavy."""
