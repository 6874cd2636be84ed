"""Whether a value fits a schema, and a schema is one."""

from typing import Any, cast

from long_running_agents.domain.skill import Json


def misfit(value: object, schema: Json) -> str:
    """Why a value does not fit a schema; empty when it does."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - heavy

    validator = cast("Any", Draft202012Validator(schema))
    error = next(validator.iter_errors(value), None)
    return str(error.message)[:200] if error else ""


def invalid(schema: Json) -> str:
    """Why a schema is none; empty when it is one."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - heavy

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"it is no JSON Schema ({error.message[:120]})"
    return ""
