"""The processes of a run: the main process, which watches the run, and the workers of pytest-xdist."""
