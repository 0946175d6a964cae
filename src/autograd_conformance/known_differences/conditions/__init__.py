"""The keys of an entry of known differences that are conditions on a violation: one class for each key.

A new key is one class in one of these modules. `table` finds the class; the reader of files, the documentation and
`--update-known` use it from there.
"""
