"""How the similarity of texts is measured: by one method throughout a run, chosen when it starts."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import model_validator

from evals_app.engine.basics.errors import NO_JUDGE, JudgeError
from evals_app.engine.basics.vectors import KnownVectors, Vector, cosine, static_vectors, unit
from evals_app.engine.graders.overlap import FuzzyMatch
from evals_app.engine.judging import Asker
from evals_app.engine.judging.metrics.equivalence import PURPOSE, ask_equivalence
from evals_app.engine.llm.call import Embeddings
from evals_app.engine.record.aids import Compare, TextSimilarity
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import ModelRef, ModelSpec, Spec
from fixtures_app.ground.quoting import cut_middle

EMBEDDING = "embedding"  # the purpose of calls that do not judge
_PROMPT_CHARS = 2_000


class SimilaritySpec(Spec):
    """The method that was chosen.

    `embeddings` asks a provider's model, `static` reads a model2vec model from a folder; `judge`
    asks a chat model and `words` counts shared words, both in place of embeddings.
    """

    way: Literal["embeddings", "static", "judge", "words"]
    model: ModelRef | None = None
    directory: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        needed = {"embeddings": self.model, "judge": self.model, "static": self.directory}
        if self.way in needed and needed[self.way] is None:
            raise ValueError(
                f"{self.way} needs a {'directory' if self.way == 'static' else 'model'}."
            )
        return self

    @property
    def method(self) -> str:
        """The name shown to people; scores of different methods are not comparable."""
        match self.way:
            case "embeddings":
                return f"embeddings {self.model}"
            case "static":
                return f"embeddings model2vec/{Path(self.directory or '').name}"
            case "judge":
                return f"{PURPOSE} {self.model}"
            case _:
                return "fuzzy_match"

    @property
    def judge(self) -> ModelSpec | None:
        """Return the chat model that is asked, if one is."""
        return self.model if self.way == "judge" else None

    @property
    def is_degraded(self) -> bool:
        """Whether it replaces embeddings."""
        return self.way in {"judge", "words"}


class Embed(Protocol):
    """Returns a vector for each text; no text is blank."""

    async def __call__(self, texts: Sequence[str], *, provider: str, model: str) -> Embeddings: ...


class SimilarityMeter:
    """Compares texts in one event loop, and keeps the vectors of those that it has seen."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._known = KnownVectors()

    def by(self, spec: SimilaritySpec, *, asker: Asker | None = None) -> Compare:
        """Return a function that compares by this method; `judge` needs an asker."""
        return partial(self._compare, spec, asker)

    async def _compare(
        self,
        spec: SimilaritySpec,
        asker: Asker | None,
        text: str,
        other: str,
        *,
        view: View,
        key: str,
    ) -> TextSimilarity:
        measured = partial(TextSimilarity, method=spec.method, is_degraded=spec.is_degraded)
        one, two = text.strip(), other.strip()
        if one == two or not one or not two:
            # No call is needed, and no API returns a vector for an empty text.
            return measured(float(one == two))
        if spec.way == "words":
            return measured(FuzzyMatch().compare(one, two).score or 0.0)
        if spec.way == "judge":
            if asker is None:
                raise JudgeError(NO_JUDGE)
            opinion = await ask_equivalence(asker, one, two, view=view, key=key)
            return measured(
                opinion.score, calls=opinion.calls, critique=opinion.critique, flags=opinion.flags
            )
        try:
            vectors, calls = await self.vectors(spec, [one, two])
            return measured(cosine(*vectors), calls=calls)
        except ValueError as exc:
            raise JudgeError(f"The vectors of {spec.method} cannot be compared: {exc}.") from exc

    async def vectors(
        self, spec: SimilaritySpec, texts: Sequence[str]
    ) -> tuple[list[Vector], tuple[JudgeCall, ...]]:
        """Return the vectors of texts, and the calls that it took.

        Raises:
            JudgeError, ProviderError: they could not be computed.
        """
        known = {text: self._known.get(spec.method, text) for text in texts}
        found = {text: vector for text, vector in known.items() if vector is not None}
        missing = [text for text in known if text not in found]
        calls: tuple[JudgeCall, ...] = ()
        if missing:
            vectors, calls = await self._make(spec, missing)
            for text, vector in zip(missing, vectors, strict=True):
                self._known.keep(spec.method, text, vector)
                found[text] = vector
        return [found[text] for text in texts], calls

    async def _make(
        self, spec: SimilaritySpec, texts: Sequence[str]
    ) -> tuple[list[Vector], tuple[JudgeCall, ...]]:
        model = spec.model
        if model is None:
            return await static_vectors(spec.directory or "", texts), ()
        embeddings = await self._embed(texts, provider=model.provider, model=model.name)
        vectors = [unit(vector) for vector in embeddings.vectors]
        return vectors, (_call(model, texts, embeddings),)


def _call(model: ModelSpec, texts: Sequence[str], embeddings: Embeddings) -> JudgeCall:
    """Return a record of a call and its cost."""
    return JudgeCall(
        purpose=EMBEDDING,
        provider=model.provider,
        asked_model=model.name,
        model=embeddings.model or model.name,
        prompt="\n\n".join(cut_middle(text, _PROMPT_CHARS) for text in texts),
        reply=f"{len(embeddings.vectors)} vectors of {len(embeddings.vectors[0])} numbers",
        usage=embeddings.usage,
        cost_usd=embeddings.cost_usd,
        latency_ms=embeddings.latency_ms,
        waited_ms=embeddings.waited_ms,
        attempts=embeddings.attempts,
    )
