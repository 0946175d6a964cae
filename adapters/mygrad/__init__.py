"""MyGrad: its adapter, and how its programs are printed."""
