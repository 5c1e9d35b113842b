"""The dialects: one row each."""

from evals_app.formats import (
    adk,
    agent_skills,
    agentura,
    agentv,
    copilot_studio,
    deepeval,
    holodeck,
    lobu,
    native,
    openai_evals,
    promptfoo,
    pydantic_evals,
    struere,
    tables,
    tau_bench,
    waza,
)
from evals_app.formats.dialect import Dialect

# In the order in which people see them. The first one reads what might be of two.
DIALECTS: dict[str, Dialect] = {
    package.DIALECT.name: package.DIALECT
    for package in (
        tables,
        native,
        struere,
        agentura,
        holodeck,
        promptfoo,
        lobu,
        openai_evals,
        agent_skills,
        pydantic_evals,
        adk,
        agentv,
        copilot_studio,
        waza,
        deepeval,
        tau_bench,
    )
}
