"""Frameworks that a server process runs, in any language. A request and its reply are a line of JSON each
(docs/protocol.md).
"""
