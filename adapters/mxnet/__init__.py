"""Apache MXNet: its adapter, and how its programs are printed."""
