"""Where foreign code runs: the port, its backends, the workspace's jail and the network's guard."""
