"""Vectors made in this process, without a server, by the `fastembed` library (the extra `hybrid-memory[local]`)."""

import json
import os
from typing import Any

from .base import BaseEmbedder
from .transport import LONG, STOP, Failure

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
CONTEXT = 256  # tokens that it takes, whatever the tokenizer_config.json says that fastembed goes by


class LocalEmbedder(BaseEmbedder):
    """`model` is one that fastembed knows and fetches at first use, or a folder that holds one as ONNX.

    Such a folder is laid out as those of sentence-transformers: model.onnx or onnx/model.onnx, tokenizer.json,
    tokenizer_config.json and config.json, and, if there, 1_Pooling/config.json and sentence_bert_config.json.
    """

    provider = "local"

    def __init__(self, model: str = DEFAULT, cache_size: int = 256, **options: Any) -> None:
        super().__init__(os.path.expanduser(model), cache_size, **options)
        self._loaded: Any = None

    def _request(self, texts: list[str], role: str) -> Any:
        try:
            model = self._loaded = self._loaded or self._load()
            fits = not any(encoding.overflowing for encoding in model.model.tokenizer.encode_batch(texts))
            vectors = [vector.tolist() for vector in model.embed(texts)] if fits else []
        except Failure:
            raise
        except Exception as error:  # of many kinds, and none should end an ingest
            why = " ".join(str(error).split()) or type(error).__name__
            raise Failure(STOP, f"the model {self.model} cannot be used: {why}") from error
        if not fits:  # fastembed would cut it in silence
            raise Failure(LONG, f"a text is longer than {self.model} takes")
        return vectors

    def _load(self) -> Any:
        try:
            from fastembed import TextEmbedding
            from loguru import logger
        except ImportError as error:
            raise Failure(STOP, "local needs fastembed; get it with `pip install 'hybrid-memory[local]'`") from error
        logger.disable("fastembed")  # what it has to say comes as an exception, too
        if folder := self.model if os.path.isdir(self.model) else None:
            _register(folder)
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hybrid-memory")
        model = TextEmbedding(self.model, cache_dir=os.environ.get("FASTEMBED_CACHE_PATH") or cache, specific_model_path=folder)
        own = _json(self.model, "sentence_bert_config.json").get("max_seq_length")
        if context := CONTEXT if self.model == DEFAULT else own:
            model.model.tokenizer.enable_truncation(context)
        return model


def _register(folder: str) -> None:
    """Make a folder known to fastembed as a model of that name."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(known["model"].lower() == folder.lower() for known in TextEmbedding.list_supported_models()):
        return
    nested = os.path.exists(os.path.join(folder, "onnx", "model.onnx"))
    by_first = _json(folder, "1_Pooling", "config.json").get("pooling_mode_cls_token")
    TextEmbedding.add_custom_model(
        model=folder,
        pooling=PoolingType.CLS if by_first else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=os.path.basename(folder)),  # asked for, though nothing is fetched
        dim=_json(folder, "config.json").get("hidden_size", 0),
        model_file="onnx/model.onnx" if nested else "model.onnx",
    )


def _json(*path: str) -> Any:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}
