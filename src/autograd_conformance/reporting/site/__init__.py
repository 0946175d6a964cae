"""The static site: HTML pages made from record files and from documents of the checkout; no server is needed."""
