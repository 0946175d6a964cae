"""Evidence for a failure: the path of the gradient through the failing call, and independent votes on its value."""
