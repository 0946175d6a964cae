"""The static site: pages that open from disk, made from record files and the documents of the checkout."""
