"""Dask clusters: submitting tasks, collecting their results, and waiting for workers."""
