"""Vectors made in this process, without a server, by the library `fastembed`, which the extra
`local` installs.
"""

import json
import os
from typing import Any

from ...embedding.base import BaseEmbedder
from ...embedding.transport import LONG, STOP, Failure
from ...environment import missing_package

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
# Tokens, by the model card; its tokenizer_config.json, which fastembed reads, has another number
CONTEXT = 256


class LocalEmbedder(BaseEmbedder):
    """`model` is the name of a model that fastembed knows and downloads at its first use, or a
    folder with an ONNX model.

    The folder has the files of sentence-transformers: model.onnx or onnx/model.onnx,
    tokenizer.json, tokenizer_config.json, config.json, and optionally 1_Pooling/config.json and
    sentence_bert_config.json.
    """

    provider = "local"

    def __init__(self, model: str = DEFAULT, cache_size: int = 256, **options: Any) -> None:
        super().__init__(os.path.expanduser(model), cache_size, **options)
        self._loaded: Any = None

    def _request(self, texts: list[str], role: str) -> Any:
        try:
            model = self._loaded = self._loaded or self._load()
            fits = not any(
                encoding.overflowing for encoding in model.model.tokenizer.encode_batch(texts)
            )
            vectors = [vector.tolist() for vector in model.embed(texts)] if fits else []
        except Failure:
            raise
        except (
            Exception
        ) as error:  # fastembed raises errors of many kinds, and none of them should end an ingest
            why = " ".join(str(error).split()) or type(error).__name__
            raise Failure(STOP, f"the model {self.model} cannot be used: {why}") from error
        if not fits:  # fastembed would cut the text without saying so
            raise Failure(LONG, f"a text is longer than {self.model} takes")
        return vectors

    def _load(self) -> Any:
        try:
            from fastembed import TextEmbedding
            from loguru import logger
        except ImportError as error:
            raise Failure(STOP, missing_package("the provider local", "local")) from error
        logger.disable("fastembed")  # every message that matters is an exception, too
        if folder := self.model if os.path.isdir(self.model) else None:
            _register(folder)
        cache = os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hybrid-memory"
        )
        model = TextEmbedding(
            self.model,
            cache_dir=os.environ.get("FASTEMBED_CACHE_PATH") or cache,
            specific_model_path=folder,
        )
        own = _json(self.model, "sentence_bert_config.json").get("max_seq_length")
        if context := CONTEXT if self.model == DEFAULT else own:
            model.model.tokenizer.enable_truncation(context)
        return model


def _register(folder: str) -> None:
    """Tell fastembed that a model with the name of the folder is in the folder."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(
        known["model"].lower() == folder.lower() for known in TextEmbedding.list_supported_models()
    ):
        return
    nested = os.path.exists(os.path.join(folder, "onnx", "model.onnx"))
    by_first = _json(folder, "1_Pooling", "config.json").get("pooling_mode_cls_token")
    TextEmbedding.add_custom_model(
        model=folder,
        pooling=PoolingType.CLS if by_first else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(
            hf=os.path.basename(folder)
        ),  # fastembed wants a source, although it downloads nothing
        dim=_json(folder, "config.json").get("hidden_size", 0),
        model_file="onnx/model.onnx" if nested else "model.onnx",
    )


def _json(*path: str) -> Any:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}
