"""A worked example: a framework small enough to read at one sitting, and its adapter."""
