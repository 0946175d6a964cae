"""The processes of a run: the main process, which watches the run and prints its progress, and the workers of
pytest-xdist.
"""
