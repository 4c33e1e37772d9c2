"""JSON schemas of research results: the contract that clients rely on."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["REPORT", "RESULT", "TASK_RESULT", "report_schema"]

_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string", "minLength": 1}}

RESULT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "minLength": 1},
        "references": _TEXTS,
        "key_findings": _TEXTS,
        "confidence": {"enum": ["low", "med", "high"]},
        "notes": {"type": ["string", "null"]},
    },
    "required": ["summary", "references", "key_findings", "confidence", "notes"],
    "additionalProperties": False,
}

_TIMING: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"startedAt": {"type": "integer", "minimum": 0}, "elapsedMs": {"type": "integer", "minimum": 0}},
    "required": ["startedAt", "elapsedMs"],
    "additionalProperties": False,
}
_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "message": {"type": "string"}},
    "required": ["name", "message"],
    "additionalProperties": False,
}

TASK_RESULT: Final[dict[str, Any]] = {
    "type": "object",
    "oneOf": [
        {
            "properties": {"status": {"const": "ok"}, "value": RESULT, "timing": _TIMING},
            "required": ["status", "value", "timing"],
            "additionalProperties": False,
        },
        {
            "properties": {"status": {"enum": ["timeout", "canceled", "error"]}, "error": _ERROR, "timing": _TIMING},
            "required": ["status", "error", "timing"],
            "additionalProperties": False,
        },
    ],
}

_COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_PROGRESS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tasks": _COUNT,
        "roles": _TEXTS,
        "elapsedMs": _COUNT,
        "timeouts": _TEXTS,
        "keywords": _TEXTS,
        "filesRead": _COUNT,
        "bytesRead": _COUNT,
    },
    "required": ["tasks", "roles", "elapsedMs", "timeouts", "keywords", "filesRead", "bytesRead"],
    "additionalProperties": False,
}
_CONSTRAINTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": dict.fromkeys(("maxFilesRead", "maxBytesRead", "deadlineMs", "maxTokens"), _COUNT),
    "required": ["maxFilesRead", "maxBytesRead", "deadlineMs", "maxTokens"],
    "additionalProperties": False,
}


def report_schema(*further: str) -> dict[str, Any]:
    """The report of `research_codebase`; `further` are the keys of user-defined roles."""
    roles = ("locator", "analyzer", "patterns", "thoughts_locator", "thoughts_analyzer", "synthesis", *further)
    return {
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1},
            "types": _TEXTS,
            "rootsSearched": _TEXTS,
            **dict.fromkeys(roles, TASK_RESULT),
            "constraints": _CONSTRAINTS,
            "progress": _PROGRESS,
            "artifactPath": {"type": "string", "minLength": 1},
        },
        "required": ["question", "types", "rootsSearched", "locator", "synthesis", "constraints", "progress"],
        "additionalProperties": False,
    }


REPORT: Final = report_schema()
