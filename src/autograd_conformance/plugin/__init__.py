"""The pytest plugin of the suite: options, tests, results, and the report of a run."""
