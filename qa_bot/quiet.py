"""Keeps the libraries underneath from calling home; nothing leaves the machine but what a chosen model needs."""

from __future__ import annotations

import os

_OFF = {
    "ANONYMIZED_TELEMETRY": "False",  # chromadb
    "DO_NOT_TRACK": "1",
    "GRADIO_ANALYTICS_ENABLED": "False",  # also the version check
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LANGCHAIN_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",  # a stray variable of another project would upload every question
}


def silence() -> None:
    """Switch usage statistics, version checks and tracing off, whatever the environment says. Call it before importing those libraries."""
    os.environ.update(_OFF)
