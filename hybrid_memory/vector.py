"""Vector search over a connection (storage/sqlite/vectors.py), and vectors as bytes
(storage/encoding.py).
"""

from .storage.encoding import cosine_similarity, decode_embedding, encode_embedding
from .storage.sqlite.vectors import VectorSearch

__all__ = ["VectorSearch", "cosine_similarity", "decode_embedding", "encode_embedding"]
