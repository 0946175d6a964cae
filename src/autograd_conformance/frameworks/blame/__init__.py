"""Who raised an exception: the framework, the adapter, or neither can be told."""
