"""Vector search over a connection (storage/sqlite/vectors.py), and vectors as bytes
(storage/vector.py).
"""

from .storage.sqlite.vectors import VectorSearch
from .storage.vector import cosine_similarity, decode_embedding, encode_embedding

__all__ = ["VectorSearch", "cosine_similarity", "decode_embedding", "encode_embedding"]
