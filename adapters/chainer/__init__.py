"""Chainer: its adapter, and how its programs are printed."""
