"""The memory of values in the reference: storages, views, the tensors in `.grad`, and in-place writes."""
