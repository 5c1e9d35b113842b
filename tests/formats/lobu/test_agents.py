import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from tests.formats.lobu.projects import EVALS, KNOWN, PING, problems, read

TOML = """\
[agents.support]
name = "Support"
description = "Customer support agent"
dir = "./agents/helpers"

# Providers (order = priority, first available is used)
[[agents.support.providers]]
id = "openrouter"
model = "anthropic/claude-sonnet-4"
key = "$OPENROUTER_API_KEY"

[[agents.support.providers]]
id = "gemini"
key = "$GEMINI_API_KEY"

[[agents.support.platforms]]
type = "telegram"
[agents.support.platforms.config]
botToken = "$TELEGRAM_BOT_TOKEN"

[agents.support.skills.mcp.custom-tools]
url = "https://my-mcp.example.com"
headers = { Authorization = "Bearer abc123" }

[agents.support.network]
allowed = ["github.com", "api.linear.app"]

[agents.support.worker]
nix_packages = ["imagemagick"]

[agents.night]
name = "Night shift"
dir = "./agents/night"

[[agents.night.providers]]
id = "anthropic"
model = "anthropic/claude-haiku-5-5"

[memory]
enabled = true
org = "support"
"""


def test_an_agent_is_made_of_its_model_and_what_its_folder_tells_it() -> None:
    beside = {"p/agents/helpers/SOUL.md": "Be kind.\n", "p/agents/helpers/IDENTITY.md": "You help."}

    imported = read({"p/lobu.toml": TOML}, beside=beside)

    assert [
        agent.spec.model_dump(mode="json", exclude_defaults=True) for agent in imported.agents
    ] == [
        {
            "agent": "Support",
            "slug": "support",
            "description": "Customer support agent",
            "model": "openrouter/anthropic/claude-sonnet-4",
            "system_prompt": "You help.\n\nBe kind.",
        },
        {"agent": "Night shift", "slug": "night", "model": "anthropic/claude-haiku-5-5"},
    ]
    assert [agent.line for agent in imported.agents] == [1, 31]


def test_what_cannot_run_here_is_a_loss_and_no_key_is_repeated() -> None:
    losses = read({"p/lobu.toml": TOML}).losses

    assert [(loss.line, loss.keys) for loss in losses] == [
        (10, "agents.support.providers[0].key"),
        (12, "agents.support.providers[1]"),
        (14, "agents.support.providers[1].key"),
        (16, "agents.support.platforms"),
        (21, "agents.support.skills"),
        (25, "agents.support.network"),
        (28, "agents.support.worker"),
        (39, "memory"),
    ]
    assert "$" not in "".join(map(str, losses))
    assert "abc123" not in "".join(map(str, losses))


@pytest.mark.parametrize("line", ["[" + " " * 100_000 + "x", "[a" + " " * 100_000 + "b"])
def test_a_line_in_a_text_that_is_no_table_is_read_in_bounded_time(line: str) -> None:
    toml = f"[agents.b]\ndescription = '''\n{line}\n'''\n[memory]\nx = 1\n"

    assert [(loss.line, loss.keys) for loss in read({"lobu.toml": toml}).losses] == [(5, "memory")]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        pytest.param(" [ memory ] # a remark", 1, id="spaces and a remark"),
        pytest.param("['memory']", 1, id="in quotes"),
        pytest.param("[memory.deep]", 1, id="one below"),
        pytest.param("memory . x = 1", 1, id="a key below"),
    ],
)
def test_the_line_of_a_table_is_known_however_it_is_written(table: str, line: int) -> None:
    losses = read({"lobu.toml": f"{table}\n"}).losses

    assert [loss.line for loss in losses if loss.keys == "memory"] == [line]


def test_an_agent_that_exists_stays_as_it_is() -> None:
    known = ExistingObjects(agents={"support": "scripted", "night": "model"})

    imported = read({"p/lobu.toml": TOML, "p/agents/helpers/evals/ping.yaml": PING}, known=known)

    assert imported.agents == []
    assert imported.suites[0].spec.agent == "support"
    assert [loss.keys for loss in imported.losses] == ["agents.support", "agents.night", "memory"]


def test_a_native_agent_of_the_same_slug_describes_it() -> None:
    native = "agent: Night\nslug: night\ndriver: scripted\nrules: [{reply: hi}]\n"

    imported = read({"p/lobu.toml": TOML, "p/agents/night/night.agent.yaml": native})

    assert {agent.spec.slug: agent.spec.driver for agent in imported.agents} == {
        "night": "scripted",
        "support": "model",
    }
    assert "agents.night" in [loss.keys for loss in imported.losses]


def test_an_agent_without_a_model_is_not_made() -> None:
    toml = '[agents.my-agent]\nname = "my-agent"\n[[agents.my-agent.providers]]\nid = "gemini"\n'

    errors = problems({"lobu.toml": toml, f"{EVALS}ping.yaml": PING}, known=ExistingObjects())
    warned = read({"lobu.toml": toml}, known=ExistingObjects()).warnings

    assert [(item.path, item.line) for item in errors] == [(f"{EVALS}ping.yaml", 2)]
    assert "'my-agent'" in errors[0].message
    assert [(item.line, item.keys) for item in warned] == [(1, "agents.my-agent")]
    assert "my-agent.agent.yaml" in warned[0].message


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ('name = "N"\ndescription = "D"\ndir = "agents/my-agent"', []),
        ("[agents.my-agent.network]\nallowed = []", ["agents.my-agent"]),
    ],
)
def test_of_an_agent_that_exists_what_it_can_do_is_lost(more: str, lost: list[str]) -> None:
    imported = read({"lobu.toml": f"[agents.my-agent]\n{more}\n"})

    assert [loss.keys for loss in imported.losses] == lost


@pytest.mark.parametrize(
    ("path", "named", "agent"),
    [
        pytest.param("p/agents/helpers/evals/ping.yaml", None, "support", id="folder of lobu.toml"),
        pytest.param("p/agents/other/evals/ping.yaml", None, "other", id="folder alone"),
        pytest.param("p/evals/ping.yaml", None, "support", id="the first"),
        pytest.param("p/evals/ping.yaml", "night", "night", id="named instead of the first"),
        pytest.param("q/ping.yaml", "other", "other", id="outside of the project"),
    ],
)
def test_the_agent_of_an_eval_is_reported_by_its_folder_then_by_a_person(
    path: str, named: str | None, agent: str
) -> None:
    known = ExistingObjects(agents={"support": "model", "night": "model", "other": "model"})

    imported = read({"p/lobu.toml": TOML, path: PING}, agent=named, known=known)

    assert imported.suites[0].spec.agent == agent
    assert imported.suites[0].spec.slug == f"{agent}-ping"


@pytest.mark.parametrize(
    ("root", "path"),
    [
        pytest.param("/home/me/p", "agents/my-agent/evals/ping.yaml", id="in the project"),
        pytest.param("/home/me/p/agents", "my-agent/evals/ping.yaml", id="in agents"),
        pytest.param("/home/me/p/agents/my-agent/evals", "ping.yaml", id="beside it"),
        pytest.param("/home/me/p/agents/other/evals", "../../my-agent/evals/ping.yaml", id="else"),
    ],
)
def test_the_agent_is_reported_by_the_folder_wherever_the_import_begins(
    root: str, path: str
) -> None:
    source = SourceFile(path, PING.encode())

    imported = read_files([source], known=KNOWN, root=root)

    assert imported.suites[0].spec.agent == "my-agent"


def test_an_eval_without_an_agent_needs_one() -> None:
    (problem,) = problems({"ping.yaml": PING})

    assert (problem.path, problem.line) == ("ping.yaml", 2)
    assert "agents/<id>/evals/" in problem.message
    assert "--agent" in problem.message


@pytest.mark.parametrize(
    ("toml", "line", "keys", "message"),
    [
        ("agents = 3", 1, "agents", "keys"),
        ('[agents.x]\nproviders = "openai"', 2, "agents.x.providers", "list"),
        ('[[agents.x.providers]]\nmodel = "m"', 1, "agents.x.providers[0]", "`id`"),
        ("[agents.x\n", 1, "", "TOML"),
        ('[agents.x]\nname = "a\\u0000b"', 2, "agents.x.name", "NUL"),
        ("[agents.x]\nlimit = inf", 2, "agents.x.limit", "too large"),
        (f"[agents.x]\nlimit = {'1' * 5000}", 0, "", "too long"),
    ],
)
def test_an_error_in_lobu_toml_is_reported_at_its_line(
    toml: str, line: int, keys: str, message: str
) -> None:
    (problem,) = problems({"lobu.toml": toml})

    assert (problem.path, problem.line, problem.keys) == ("lobu.toml", line, keys)
    assert message in problem.message


def test_variables_that_only_lobu_fills_in_stay_text_and_are_lost() -> None:
    imported = read({"p/lobu.toml": TOML}, beside={"p/agents/night/USER.md": "Hello {{nobody}}"})

    (night,) = [agent.spec for agent in imported.agents if agent.spec.slug == "night"]
    assert night.sent_prompt.endswith(r"\{{nobody}}")
    assert [loss.keys for loss in imported.losses if "nobody" in loss.message] == [
        "agents.night.dir"
    ]


def test_a_person_may_name_another_agent_than_that_of_the_folder() -> None:
    known = ExistingObjects(agents={"support": "model", "desk": "http"})
    path = "p/agents/night/evals/ping.yaml"

    imported = read({"p/lobu.toml": TOML, path: PING}, agent="desk", known=known)

    (ping,) = [suite.spec for suite in imported.suites]
    # Known by the folder all the same: another agent may have a ping, too.
    assert (ping.agent, ping.slug, imported.agents) == ("desk", "night-ping", [])
    assert {loss.path for loss in imported.losses} == {path, "p/lobu.toml"}


MODELS = """\
[agents.x]
[[agents.x.providers]]
id = "z-ai"
model = "z-ai/glm"
"""


def test_a_provider_that_is_not_here_is_passed_over_for_one_that_is() -> None:
    more = '[[agents.x.providers]]\nid = "openrouter"\nmodel = "z-ai/glm"\n'

    imported = read({"lobu.toml": MODELS + more})

    assert str(imported.agents[0].spec.asked_model) == "openrouter/z-ai/glm"
    assert [loss.keys for loss in imported.losses] == ["agents.x.providers[0]"]


def test_an_agent_whose_provider_is_not_here_is_not_made() -> None:
    alone = read({"lobu.toml": MODELS})
    own = "provider: Z\nslug: z-ai\nkind: openrouter\n"
    beside = read({"lobu.toml": MODELS, "z-ai.provider.yaml": own})

    assert alone.agents == []
    assert [warning.keys for warning in alone.warnings] == ["agents.x"]
    assert "z-ai" in alone.warnings[0].message
    assert [str(agent.spec.asked_model) for agent in beside.agents] == ["z-ai/glm"]


def test_an_agent_whose_id_is_no_slug_is_refused_once_with_one_that_is() -> None:
    errors = problems({"agents/MyAgent/evals/x.yaml": PING})

    assert [item.keys for item in errors] == [""]
    assert "lobu.toml" in errors[0].message


def test_an_agent_with_a_long_id_or_an_underscore_keeps_it() -> None:
    slug = f"my_{'a' * 70}"

    imported = read(
        {f"agents/{slug}/evals/x.yaml": PING}, known=ExistingObjects(agents={slug: "model"})
    )

    assert imported.suites[0].spec.agent == slug


def test_evals_of_an_agent_with_a_folder_elsewhere_have_to_be_named() -> None:
    toml = '[agents.my-agent]\ndir = "./bots/one"\n'

    unnamed = read({"lobu.toml": toml})
    named = read({"lobu.toml": toml, "bots/one/evals/ping.yaml": PING})

    assert [(warning.line, warning.keys) for warning in unnamed.warnings] == [
        (2, "agents.my-agent.dir")
    ]
    assert named.warnings == []
    assert [suite.spec.agent for suite in named.suites] == ["my-agent"]


def test_nobody_misses_the_agents_of_a_lobu_toml_that_cannot_be_read() -> None:
    errors = problems({"lobu.toml": "[agents.x\n", f"{EVALS}x.yaml": PING}, known=ExistingObjects())

    assert [item.path for item in errors] == ["lobu.toml"]
