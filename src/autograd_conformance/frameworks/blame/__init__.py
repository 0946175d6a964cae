"""Who raised an exception: the framework, the adapter, or one of the two that cannot be determined."""
