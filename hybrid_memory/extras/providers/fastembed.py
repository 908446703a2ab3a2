"""Vectors made in this process, without a server, by the library `fastembed`, which the extra
`local` installs.
"""

import json
import os
from typing import Any

import requests

from ...embedding.base import BaseEmbedder
from ...embedding.transport import LONG, STOP, Failure, within
from ..environment import missing_package

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
# Tokens, from the model card; tokenizer_config.json, which fastembed reads, has another number
CONTEXT = 256
ONLINE_SECONDS = 3.0  # for an answer of the server with the models


class LocalEmbedder(BaseEmbedder):
    """`model` is the name of a model that fastembed supports and downloads at its first use, or a
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
            if self._loaded is None:
                self._loaded = self._load()
            self._refuse_long(texts)
            return [vector.tolist() for vector in self._loaded.embed(texts)]
        except Failure:
            raise
        except Exception as error:  # of many types; none may end an ingest
            why = " ".join(str(error).split()) or type(error).__name__
            raise Failure(STOP, f"the model {self.model} cannot be used: {why}") from error

    def _refuse_long(self, texts: list[str]) -> None:
        """Raise Failure for a text that fastembed would cut silently."""
        encodings = self._loaded.model.tokenizer.encode_batch(texts)
        if any(encoding.overflowing for encoding in encodings):
            raise Failure(LONG, f"a text is too long for {self.model}")

    def _load(self) -> Any:
        try:
            from fastembed import TextEmbedding
            from loguru import logger
        except ImportError as error:
            raise Failure(STOP, missing_package("the provider local", "local")) from error
        logger.disable("fastembed")  # all important messages are exceptions too
        options = options_of(self.model)
        if options["specific_model_path"]:
            _register(self.model)
        # Any: only models that run on ONNX have the attribute `tokenizer`, but all text models of
        # fastembed do
        model: Any
        try:
            model = TextEmbedding(self.model, local_files_only=True, **options)
        except Exception as error:
            _check_online(error)
            model = TextEmbedding(self.model, **options)
        context = _json(self.model, "sentence_bert_config.json").get("max_seq_length")
        if self.model == DEFAULT:
            context = CONTEXT
        if context:
            model.model.tokenizer.enable_truncation(context)
        return model


def options_of(model: str) -> dict[str, Any]:
    """The options with which fastembed loads a model from its folder or from the cache."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return {
        "cache_dir": os.environ.get("FASTEMBED_CACHE_PATH")
        or os.path.join(caches, "hybrid-memory"),
        "specific_model_path": model if os.path.isdir(model) else None,
    }


def file_in(folder: str) -> str:
    """The file of the model in a folder."""
    nested = "onnx/model.onnx"
    return nested if os.path.exists(os.path.join(folder, nested)) else "model.onnx"


def _check_online(error: Exception) -> None:
    """Raise Failure, with the reason why no model was loaded, if none can be downloaded: fastembed
    itself would try for a minute.
    """
    source = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        within(ONLINE_SECONDS, lambda: requests.head(source, timeout=ONLINE_SECONDS))
    except (requests.RequestException, TimeoutError):
        why = " ".join(str(error).split()).rstrip(".")
        raise Failure(STOP, f"{why}; {source} cannot be reached to download a model") from error


def _register(folder: str) -> None:
    """Register the model in a folder with fastembed, under the folder's name."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    names = {model["model"].lower() for model in TextEmbedding.list_supported_models()}
    if folder.lower() in names:
        return
    pooling = PoolingType.MEAN
    if _json(folder, "1_Pooling", "config.json").get("pooling_mode_cls_token"):
        pooling = PoolingType.CLS
    TextEmbedding.add_custom_model(
        model=folder,
        pooling=pooling,
        normalization=True,
        # fastembed requires a source, although it downloads nothing
        sources=ModelSource(hf=os.path.basename(folder)),
        dim=_json(folder, "config.json").get("hidden_size", 0),
        model_file=file_in(folder),
    )


def _json(*path: str) -> Any:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}
