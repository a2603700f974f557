"""Estimated tokens of tools, beside those that OpenAI's o200k_base counted."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.wording.context_cost import estimate, tokens_of

_COUNTED: list[tuple[str, int]] = [
    (
        (
            '{"name": "trigger-sampling-request", "description": "Trigger a Request from the Serv'
            'er for LLM Sampling", "input_schema": {"$schema": "http://json-schema.org/draft-07/s'
            'chema#", "type": "object", "properties": {"prompt": {"type": "string", "description"'
            ': "The prompt to send to the LLM"}, "maxTokens": {"default": 100, "description": "Ma'
            'ximum number of tokens to generate", "type": "number"}}, "required": ["prompt"]}}'
        ),
        110,
    ),
    (
        (
            '{"name": "list_directory", "description": "Get a detailed listing of all files and d'
            "irectories in a specified path. Results clearly distinguish between files and direct"
            "ories with [FILE] and [DIR] prefixes. This tool is essential for understanding direc"
            "tory structure and finding specific files within a directory. Only works within allo"
            'wed directories.", "input_schema": {"$schema": "http://json-schema.org/draft-07/sche'
            'ma#", "type": "object", "properties": {"path": {"type": "string"}}, "required": ["pa'
            'th"]}}'
        ),
        110,
    ),
    (
        (
            '{"name": "delete_entities", "description": "Delete multiple entities and their assoc'
            'iated relations from the knowledge graph", "input_schema": {"$schema": "http://json-'
            'schema.org/draft-07/schema#", "type": "object", "properties": {"entityNames": {"type'
            '": "array", "items": {"type": "string"}, "description": "An array of entity names to'
            ' delete"}}, "required": ["entityNames"]}}'
        ),
        92,
    ),
    (
        (
            '{"name": "fetch", "description": "Fetches a URL from the internet and optionally ext'
            "racts its contents as markdown.\\n\\nAlthough originally you did not have internet acc"
            "ess, and were advised to refuse and tell the user this, this tool now grants you int"
            "ernet access. Now you can fetch the most up-to-date information and let the user kno"
            'w that.", "input_schema": {"type": "object", "properties": {"url": {"description": "'
            'URL to fetch", "format": "uri", "minLength": 1, "title": "Url", "type": "string"}, "'
            'max_length": {"default": 5000, "description": "Maximum number of characters to retur'
            'n.", "maximum": 999999, "minimum": 1, "title": "Max Length", "type": "integer"}, "st'
            'art_index": {"default": 0, "description": "On return output starting at this charact'
            'er index, useful if a previous fetch was truncated and more context is required.", "'
            'minimum": 0, "title": "Start Index", "type": "integer"}, "raw": {"default": false, "'
            'description": "Get the actual HTML content of the requested page, without simplifica'
            'tion.", "title": "Raw", "type": "boolean"}}, "required": ["url"], "title": "fetchArg'
            'uments"}}'
        ),
        276,
    ),
    (
        (
            '{"name": "add_issue_comment", "description": "Add a comment to an existing issue", "'
            'input_schema": {"type": "object", "properties": {"owner": {"type": "string"}, "repo"'
            ': {"type": "string"}, "issue_number": {"type": "number"}, "body": {"type": "string"}'
            '}, "required": ["owner", "repo", "issue_number", "body"], "additionalProperties": fa'
            'lse, "$schema": "http://json-schema.org/draft-07/schema#"}}'
        ),
        109,
    ),
    (
        (
            '{"name": "browser_handle_dialog", "description": "Handle a dialog", "input_schema": '
            '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "prope'
            'rties": {"accept": {"type": "boolean", "description": "Whether to accept the dialog.'
            '"}, "promptText": {"description": "The text of the prompt in case of a prompt dialog'
            '.", "type": "string"}}, "required": ["accept"], "additionalProperties": false}}'
        ),
        107,
    ),
]
"""Definitions of public servers as they are sent to a model, with their tokens in o200k_base."""


@pytest.mark.parametrize(("sent", "tokens"), _COUNTED)
def test_the_estimate_is_within_its_error(sent: str, tokens: int) -> None:
    tool: dict[str, Any] = json.loads(sent)
    found = tokens_of(tool["name"], tool["description"], tool["input_schema"])

    assert found == estimate(sent)
    assert abs(found - tokens) <= 0.07 * tokens


def test_any_text_has_an_estimate() -> None:
    assert estimate("") == 0
    assert estimate("\ud83d" * 10 + "日本語") >= 3
