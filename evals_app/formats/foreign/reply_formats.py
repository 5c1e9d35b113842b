"""The format of replies, as other tools ask models for it."""

from pydantic import ValidationError

from evals_app.engine.specs.model_settings import AgentSettings
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.spec_errors import messages_of


def format_settings(written: object) -> tuple[Json, str]:
    """Return the settings of an agent with this format of replies, and why there are none."""
    if written is None or (isinstance(written, dict) and written.get("type") == "text"):
        return {}, ""  # text, as usual
    try:
        settings = AgentSettings.model_validate({"response_format": written})
    except ValidationError as error:
        return {}, f"This format is not sent to the model. {messages_of(error)[-1]}"
    return {"settings": {"response_format": settings.response_format}}, ""
