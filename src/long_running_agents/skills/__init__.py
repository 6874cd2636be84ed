"""Skills: tools that are made, reviewed, tried and approved."""
