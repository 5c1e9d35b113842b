"""Choose how a run compares texts: the first way that there is here, kept until its end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.kinds import KINDS
from evals_app.engine.similarity import SimilaritySpec
from evals_app.engine.spec import ModelRef, ModelSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec

_MODEL: TypeAdapter[ModelSpec] = TypeAdapter(ModelRef)
_USUAL = ("openai", "gemini")  # whose embeddings are taken where there is a key


@dataclass
class TextComparison:
    """Collects the checks that compare texts, and what keeps them from it.

    `why_unreachable` says why a model cannot be asked, `find_local_model` which model for embeddings
    an Ollama server at an address has. `models` are those for embeddings that will be asked.
    """

    providers: Mapping[str, ProviderSpec]
    why_unreachable: Callable[[ModelSpec], str | None]
    find_local_model: Callable[[str | None], str | None]
    problems: list[str] = field(default_factory=list)
    models: set[ModelSpec] = field(default_factory=set)
    _requiring: list[str] = field(default_factory=list)
    _is_needed: bool = False

    def see(self, assertion: AssertionSpec) -> None:
        """Look at a check, one after the other."""
        grader = assertion.grader
        if not isinstance(grader, SemanticSimilarity) or not assertion.enabled:
            return
        if grader.embedder is not None:
            self._ask(grader.embedder, f"Check {assertion.label!r}")
            return
        self._is_needed = True
        if grader.require == "embeddings":
            self._requiring.append(assertion.label)

    def choose(self, chat_model: Callable[[], ModelSpec | None]) -> SimilaritySpec | None:
        """Choose the way of all checks that name no model; None if there is no such check."""
        if not self._is_needed:
            return None
        found = self._embeddings() or self._static() or self._local()
        if found is None and self._requiring and not self.problems:
            self.problems.append(
                f"Check {self._requiring[0]!r} requires embeddings, and there are none. Set"
                " OPENAI_API_KEY, GEMINI_API_KEY, EVALS_EMBEDDING_MODEL or EVALS_MODEL2VEC_DIR, or"
                " run Ollama with an embedding model."
            )
        return found or self._judge(chat_model()) or SimilaritySpec(way="words")

    def _embeddings(self) -> SimilaritySpec | None:
        if written := settings.EVALS_EMBEDDING_MODEL:
            try:
                model = _MODEL.validate_python(written)
            except ValidationError as exc:
                problem = exc.errors()[0]["msg"].removeprefix("Value error, ")
                self.problems.append(f"EVALS_EMBEDDING_MODEL is {written!r}. {problem}")
                return None
            return self._ask(model, "EVALS_EMBEDDING_MODEL")
        for kind in _USUAL:
            provider, name = self.providers.get(kind), KINDS[kind].embedding_model
            if provider is None or provider.kind != kind or name is None:
                continue
            model = ModelSpec(provider=kind, name=name)
            if self.why_unreachable(model) is None:
                return self._ask(model, provider.provider)
        return None

    def _ask(self, model: ModelSpec, who: str) -> SimilaritySpec:
        provider = self.providers.get(model.provider)
        why = self.why_unreachable(model)
        if why is None and provider is not None and not KINDS[provider.kind].has_embeddings:
            why = f"{provider.provider} has no embeddings."
        if why is not None:
            self.problems.append(f"{who} uses {model}: {why}")
        self.models.add(model)
        return SimilaritySpec(way="embeddings", model=model)

    def _static(self) -> SimilaritySpec | None:
        directory = settings.EVALS_MODEL2VEC_DIR
        if not directory:
            return None
        if not Path(directory).is_dir():
            self.problems.append(f"EVALS_MODEL2VEC_DIR is {directory!r}, which is no folder.")
        elif find_spec("model2vec") is None:
            self.problems.append(
                "EVALS_MODEL2VEC_DIR is set, but model2vec is not installed; it comes with the extra"
                " embeddings-local."
            )
        return SimilaritySpec(way="static", directory=directory)

    def _local(self) -> SimilaritySpec | None:
        for slug, provider in sorted(self.providers.items()):
            if provider.kind == "ollama" and (name := self.find_local_model(provider.base_url)):
                return self._ask(ModelSpec(provider=slug, name=name), provider.provider)
        return None

    def _judge(self, model: ModelSpec | None) -> SimilaritySpec | None:
        # A script answers what it is told, whatever the texts mean.
        if model is None or model.provider == "scripted":
            return None
        return SimilaritySpec(way="judge", model=model)
