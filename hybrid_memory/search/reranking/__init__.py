"""A second look at the first passages of a search by a model that reads query and passage together, a cross-encoder."""
