"""A cross-encoder in this process, without a server. Uses the library fastembed of the extra
`local`.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...embedding.transport import STOP, Failure
from ..environment import missing_package
from ..providers.fastembed import file_in, options_of
from .base import BaseReranker

if TYPE_CHECKING:
    from ...config import Settings

DEFAULT = "Xenova/ms-marco-MiniLM-L-6-v2"


class LocalReranker(BaseReranker):
    """Reranks with a local model.

    `model` is the name of a cross-encoder supported by fastembed, which downloads it on first use,
    or a folder that contains model.onnx or onnx/model.onnx, tokenizer.json and
    tokenizer_config.json.
    """

    patience = 600.0

    def __init__(self, model: str | None, timeout: float) -> None:
        self._model = os.path.expanduser(model or DEFAULT)
        super().__init__(f"local {self._model}", timeout)

    @classmethod
    def configured(cls, settings: "Settings") -> "LocalReranker":
        """Return the reranker of the settings. Does not load the model yet."""
        return cls(settings["rerank_model"], settings["rerank_timeout"])

    def _request(self, query: str, texts: list[str], seconds: float) -> list[Any]:
        try:
            return [float(score) for score in _loaded(self._model).rerank(query, texts)]
        except Failure:
            raise
        # fastembed raises many kinds of errors, and none of them should end a search
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise Failure(STOP, f"the model {self._model} cannot be used: {why}") from error


@cache
def _loaded(model: str) -> Any:
    """Load a model, once per process for all stores."""
    try:
        from fastembed.rerank.cross_encoder import TextCrossEncoder
        from loguru import logger
    except ImportError as error:
        raise Failure(STOP, missing_package("the reranker local", "local")) from error
    logger.disable("fastembed")  # important messages are also raised as exceptions
    options = options_of(model)
    known = [each["model"] for each in TextCrossEncoder.list_supported_models()]
    if options["specific_model_path"] and model not in known:
        from fastembed.common.model_description import ModelSource

        # fastembed requires a source, although it downloads nothing
        source = ModelSource(hf=os.path.basename(model))
        TextCrossEncoder.add_custom_model(model, source, model_file=file_in(model))
    return TextCrossEncoder(model, **options)
