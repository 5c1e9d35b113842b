"""What keeps a run from starting: things that are missing or cannot be reached."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec

from pydantic import ValidationError

from evals_app.engine.agents.external.client_certificates import certificate_context
from evals_app.engine.agents.tools.mcp_tools import MISSING as MISSING_MCP
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.llm.judge_plugins import PLUGIN
from evals_app.engine.llm.keys import no_judge, unknown_address, why_unreachable
from evals_app.engine.llm.pricing import Prices, usd_text
from evals_app.engine.network.provider_kinds import KINDS, ApiKind
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.specs.agent_spec import AgentSpec, HttpAgent, ModelAgent, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec, read_model
from evals_app.engine.specs.sending_spec import CertificateSpec
from evals_app.engine.specs.tool_spec import (
    HeaderValue,
    HttpTool,
    McpTools,
    header_variables,
    without_variables,
)
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, SuiteSpec
from fixtures_app.ground.spec_errors import messages_of

MAX_MESSAGES = 5  # named of those that still have variables


@dataclass(frozen=True, slots=True)
class UsualModels:
    """The models of checks that name none: a judge, one for embeddings, and a folder of model2vec."""

    judge: str
    embedding: str = ""
    model2vec_dir: str = ""


@dataclass
class Obstacles:
    """Collects what keeps a run from starting.

    `tools` are the names of the tools that worlds have; `agents_of` returns agents by their slugs.
    """

    providers: Mapping[str, ProviderSpec]
    environ: Mapping[str, str]
    why_not_called: Callable[[str], str | None]
    usual: UsualModels
    tools: Collection[str]
    agents_of: Callable[[Collection[str]], Mapping[str, AgentSpec]]
    problems: list[str] = field(default_factory=list)
    no_judge: str = ""  # the problem that no one can judge, if that is one
    _unjudged: AssertionSpec | None = None  # a check of a chosen case without a judge
    _unplayed: str = ""  # a chosen case whose user needs the judge of the run
    _unfilled: int = 0

    def agent(self, agent: AgentSpec) -> None:
        unknown = [tool for tool in agent.world_tools if tool not in self.tools]
        if unknown:
            known = ", ".join(self.tools)
            self.say(f"Agent {agent.slug} has unknown tools: {', '.join(unknown)}. Known: {known}.")
        if isinstance(agent, ModelAgent):
            if agent.model.provider == "scripted":
                self.say(
                    f"Agent {agent.slug} has {agent.model} as its model, but a script is an agent, "
                    f"not a model: test the agent {agent.model.name} instead."
                )
            elif agent.model.provider == PLUGIN and PLUGIN not in self.providers:
                self.say(
                    f"Agent {agent.slug} has {agent.model} as its model, but that is a judge of a "
                    "plug-in. Choose a model of a provider."
                )
            self._reachable(agent.model, f"Agent {agent.slug}")
            self._takes_format(agent)
        if isinstance(agent, ScriptedAgent) and agent.is_waiting:
            self.say(f"Agent {agent.slug} is not connected yet: its developer has not answered.")
        asked: list[tuple[str, str, Mapping[str, HeaderValue]]] = []
        if isinstance(agent, HttpAgent):
            asked.append((f"Agent {agent.slug}", without_variables(agent.url), agent.headers))
        if isinstance(agent, HttpAgent) and agent.client_certificate:
            self._certificate_fits(agent, agent.client_certificate)
        if isinstance(agent, HttpAgent) and agent.oauth:
            of_token = agent.oauth.token_url, agent.oauth.secret
            asked.append((f"The token of agent {agent.slug}", *of_token))
        for tool in agent.given_tools:
            if isinstance(tool, HttpTool):
                asked.append((f"Tool {tool.name} of agent {agent.slug}", tool.url, tool.headers))
            if isinstance(tool, McpTools) and find_spec("mcp") is None:
                self.say(f"Agent {agent.slug} uses tools of {tool.mcp}. {MISSING_MCP}")
        for who, url, headers in asked:
            self._can_be_asked(who, url, headers)

    def _certificate_fits(self, agent: HttpAgent, spec: CertificateSpec) -> None:
        try:
            certificate_context(spec, urls=agent.certified_urls, environ=self.environ)
        except ConfigurationError as error:
            self.say(f"Agent {agent.slug} cannot show its client certificate: {error}")

    def _can_be_asked(self, who: str, url: str, headers: Mapping[str, HeaderValue]) -> None:
        for variable in header_variables(headers):
            if not self.environ.get(variable):
                self.say(f"{who} needs the environment variable {variable}, which is not set.")
        if why := self.why_not_called(url):
            self.say(f"{who} cannot be asked: {why}")

    def case(self, case: CaseSpec, suite: SuiteSpec) -> None:
        """Look at a case that is to run: its messages, and who judges it."""
        self.check_judge_of_run(case, suite)
        if case.user_needs_judge:
            self._unplayed = self._unplayed or case.name
        for _, problem in case.placeholders():
            self._unfilled += 1
            more = "More messages of this suite have such variables."
            self.say(problem if self._unfilled <= MAX_MESSAGES else more)

    def check_judge_of_run(self, case: CaseSpec, suite: SuiteSpec) -> None:
        """Look for a check that is left to the judge of the run."""
        if self._unjudged is None:
            self._unjudged = suite.judged_check([case])

    def size(self, executions: int, cases: int, *, most: int) -> None:
        """Look at how many conversations there would be."""
        if executions > most:
            self.say(
                f"This run would have {executions:,} conversations ({cases:,} cases with all their"
                f" trials), and at most {most:,} are allowed. Choose fewer cases or trials."
            )

    def judges(self, needs: Needs, agent: AgentSpec) -> set[ModelSpec]:
        """Return the judges that checks name."""
        named = (self._resolve_model(reference, agent, who) for who, reference in needs.judges)
        return {model for model in named if model is not None}

    def judge(self, suite: SuiteSpec, agent: AgentSpec) -> ModelSpec | None:
        """Choose the judge of checks that name none."""
        before, model = len(self.problems), self.chat_model(suite, agent)
        if model is None and self._unjudged is not None and len(self.problems) == before:
            check, known = self._unjudged.label, self.providers.values()
            site = self.usual.judge
            self.no_judge = no_judge(suite.slug, check, site, known, self.environ)
            self.say(self.no_judge)
        elif model is None and self._unplayed and len(self.problems) == before:
            self.no_judge = (
                f"Case {self._unplayed!r} needs a model for its user, and this run has no judge. Choose a"
                " judge model in the settings of the suite."
            )
            self.say(self.no_judge)
        return model

    def chat_model(self, suite: SuiteSpec, agent: AgentSpec) -> ModelSpec | None:
        """Choose the judge: the suite's, else the site's if it has a key, else the agent's."""
        if suite.judge_model is not None:
            return self._resolve_model(suite.judge_model, agent, f"Suite {suite.slug}")
        try:
            site = read_model(self.usual.judge)
        except ValidationError as exc:
            problem = messages_of(exc)[0]
            self.say(f"EVALS_JUDGE_MODEL is {self.usual.judge!r}. {problem}")
            return None
        if self.why_unreachable(site) is None:
            return site
        return agent.asked_model

    def load_scripts(self, judges: Collection[ModelSpec | None]) -> list[ScriptedAgent]:
        """Load the agents that scripted judges follow."""
        slugs = {judge.name for judge in judges if judge and judge.provider == "scripted"}
        agents = self.agents_of(slugs)
        for slug in sorted(slugs):
            if slug not in agents:
                self.say(f"The judge scripted/{slug} names no agent that exists.")
            elif agents[slug].driver != "scripted":
                self.say(f"The judge scripted/{slug} names an agent that is not scripted.")
        known = (agents[slug] for slug in sorted(slugs & agents.keys()))
        return [agent for agent in known if isinstance(agent, ScriptedAgent)]

    def prices(
        self, providers: Sequence[ProviderSpec], models: Sequence[ModelSpec], *, ceiling: Decimal
    ) -> None:
        """Report models that cost money but have no price."""
        specs = {spec.slug: spec for spec in providers if spec.kind != "scripted"}
        for model in models:
            spec = specs.get(model.provider)
            if spec is not None and not Prices.of(spec).knows(model.name):
                self.say(
                    f"{model} has no price today, so a ceiling of "
                    f"{usd_text(ceiling, is_exact=True)} could not be kept. Enter its price on the "
                    f"page of the provider {spec.provider}, or under prices in "
                    f"{spec.slug}.provider.yaml, and start again."
                )

    def _resolve_model(
        self, reference: "ModelSpec | str", agent: AgentSpec, who: str
    ) -> ModelSpec | None:
        if not isinstance(reference, ModelSpec):
            if agent.asked_model is None:
                self.say(f"{who} is judged by the agent's own model, but {agent.slug} has none.")
            return agent.asked_model
        self._reachable(reference, who)
        return reference

    def _reachable(self, model: ModelSpec, who: str) -> None:
        if model.provider != "scripted" and (why := self.why_unreachable(model)):
            self.say(f"{who} uses {model}: {why}")
        if (provider := self.providers.get(model.provider)) is not None:
            self._takes_settings(model, who, KINDS[provider.kind])

    def _takes_settings(self, model: ModelSpec, who: str, kind: ApiKind) -> None:
        """Look for settings that no model of this kind accepts: they would have no effect."""
        for name in ("seed", "effort"):
            if name in kind.lacks and getattr(model, name) is not None:
                self.say(
                    f"{who} sets {name} for {model}, but no model of {kind.label} accepts it. Remove"
                    f" {name}, or choose another model."
                )

    def _takes_format(self, agent: ModelAgent) -> None:
        provider = self.providers.get(agent.model.provider)
        if provider is None or KINDS[provider.kind].has_json_mode:
            return
        if agent.settings.response_format == "json":
            self.say(
                f"Agent {agent.slug} has response_format json, but models of"
                f" {KINDS[provider.kind].label} need a JSON Schema for that. Write the schema that its"
                " replies must fit."
            )

    def why_unreachable(self, model: ModelSpec) -> str | None:
        if problem := why_unreachable(model, self.providers, self.environ):
            return problem
        provider = self.providers.get(model.provider)  # None: the judge of a plug-in
        url = unknown_address(provider) if provider else None
        return self.why_not_called(url) if url else None

    def say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
