"""Small Gymnasium wrappers, named by what they do. None is built yet."""
