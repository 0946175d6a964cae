"""The adapters for TensorFlow, eager and staged by `tf.function`."""
