"""The power of vectors: which faulty frameworks they find, by arithmetic alone and by the judge."""
