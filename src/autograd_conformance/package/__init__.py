"""The suite as an installed package: its paths, its version and the digest of its source, old names of moved modules,
and checks of the private names of libraries that it uses.
"""
