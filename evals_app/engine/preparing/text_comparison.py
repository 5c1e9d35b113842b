"""Choose how a run compares texts: the first available method, kept until its end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.preparing.obstacles import Obstacles
from evals_app.engine.specs.base_spec import ModelSpec, read_model
from evals_app.engine.verdicts.similarity import SimilaritySpec
from fixtures_app.ground.spec_errors import messages_of

_USUAL = ("openai", "gemini")  # whose embeddings are used if there is a key


@dataclass
class TextComparison:
    """Chooses how texts are compared.

    `find_local_model` returns which model for embeddings an Ollama server at an address has.
    `models` are those for embeddings that are asked.
    """

    obstacles: Obstacles
    find_local_model: Callable[[str | None], str | None]
    models: set[ModelSpec] = field(default_factory=set)

    def choose(
        self, needs: Needs, chat_model: Callable[[], ModelSpec | None]
    ) -> SimilaritySpec | None:
        """Choose the method for all checks that name no model; None if every check names one."""
        before = len(self.obstacles.problems)
        for who, model in needs.embedders:
            self._ask(model, who)
        if not needs.comparison:
            return None
        measured = self._embeddings() or self._static() or self._local()
        is_sound = len(self.obstacles.problems) == before
        if measured is None and needs.requires_embeddings and is_sound:
            self.obstacles.say(
                f"Check {needs.requires_embeddings!r} requires embeddings, and there are none. Set"
                " OPENAI_API_KEY, GEMINI_API_KEY, EVALS_EMBEDDING_MODEL or EVALS_MODEL2VEC_DIR, or"
                " run Ollama with an embedding model."
            )
        return measured or self._judge(chat_model()) or SimilaritySpec(way="words")

    def _embeddings(self) -> SimilaritySpec | None:
        if written := self.obstacles.usual.embedding:
            try:
                model = read_model(written)
            except ValidationError as exc:
                problem = messages_of(exc)[0]
                self.obstacles.say(f"EVALS_EMBEDDING_MODEL is {written!r}. {problem}")
                return None
            return self._ask(model, "EVALS_EMBEDDING_MODEL")
        for kind in _USUAL:
            provider, name = self.obstacles.providers.get(kind), KINDS[kind].embedding_model
            if provider is None or provider.kind != kind or name is None:
                continue
            model = ModelSpec(provider=kind, name=name)
            if self.obstacles.why_unreachable(model) is None:
                return self._ask(model, provider.provider)
        return None

    def _ask(self, model: ModelSpec, who: str) -> SimilaritySpec:
        provider = self.obstacles.providers.get(model.provider)
        why = self.obstacles.why_unreachable(model)
        if why is None and (provider is None or not KINDS[provider.kind].has_embeddings):
            why = f"{provider.provider if provider else 'A judge of a plug-in'} has no embeddings."
        if why is not None:
            self.obstacles.say(f"{who} uses {model}: {why}")
        self.models.add(model)
        return SimilaritySpec(way="embeddings", model=model)

    def _static(self) -> SimilaritySpec | None:
        directory = self.obstacles.usual.model2vec_dir
        if not directory:
            return None
        if not Path(directory).is_dir():
            self.obstacles.say(f"EVALS_MODEL2VEC_DIR is {directory!r}, which is not a folder.")
        elif find_spec("model2vec") is None:
            self.obstacles.say(
                "EVALS_MODEL2VEC_DIR is set, but model2vec is not installed; it comes with the extra"
                " embeddings-local."
            )
        return SimilaritySpec(way="static", directory=directory)

    def _local(self) -> SimilaritySpec | None:
        for slug, provider in sorted(self.obstacles.providers.items()):
            if provider.kind == "ollama" and (name := self.find_local_model(provider.base_url)):
                return self._ask(ModelSpec(provider=slug, name=name), provider.provider)
        return None

    def _judge(self, model: ModelSpec | None) -> SimilaritySpec | None:
        # A script gives a fixed answer, whatever the texts mean.
        if model is None or model.provider == "scripted":
            return None
        return SimilaritySpec(way="judge", model=model)
