"""What an embedder is, and the one for Ollama; the modules are embedding/interface.py and
embedding/ollama.py.
"""

from .embedding.interface import Embedder, MinimalEmbedder
from .embedding.ollama import OllamaEmbedder

__all__ = ["Embedder", "MinimalEmbedder", "OllamaEmbedder"]
