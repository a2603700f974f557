"""A gradio application as a server: ``python gradio_any.py PORT``."""

import sys
import time

import gradio


PROGRESS = gradio.Progress()  # gradio wants it as a default


def count(to: int, pause_s: float = 0, progress: gradio.Progress = PROGRESS) -> str:
    """Count, with progress."""
    for number in range(1, to + 1):
        time.sleep(pause_s)
        progress((number, to))
    return f"counted to {to}"


demo = gradio.Interface(count, ["number", "number"], "text", api_name="count")
demo.launch(mcp_server=True, server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True)
