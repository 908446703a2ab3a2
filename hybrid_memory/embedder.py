"""What an embedder is, and the one for Ollama; the modules are embedding/protocol.py and
embedding/ollama.py.
"""

from .embedding.ollama import OllamaEmbedder
from .embedding.protocol import Embedder, MinimalEmbedder

__all__ = ["Embedder", "MinimalEmbedder", "OllamaEmbedder"]
