"""Records of a run: typed values, their JSON form, and files of them."""
