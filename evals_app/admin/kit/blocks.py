"""Lists of objects with nested lines: each object is a block of inputs with lines inside.

As in `lines`, all inputs of a column share one name, and so do those of the nested lines: a hidden
line marks where each block begins.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError

from evals_app.admin.kit.lines import Line, LineColumn, LinesWidget, RecordLines, TypedLines
from evals_app.admin.kit.value_lines import MatcherLines
from fixtures_app.editing.markup import TemplateContext

_BEGINS = "begins"  # value of the hidden line


class BlocksWidget(LinesWidget):
    """Blocks, with a button for another one; a blank one only if one is required."""

    template_name = "admin/evals_app/kit/blocks.html"

    def __init__(
        self, columns: Sequence[LineColumn], *, inner_key: str, inner: MatcherLines, opens: bool
    ) -> None:
        super().__init__(columns)
        self.inner_key = inner_key
        self.inner = inner
        self.opens = opens
        self.lines: LinesWidget = inner.widget

    def id_for_label(self, id_: str) -> str:
        return ""  # there may be no input, and each one has its own label

    def get_context(
        self, name: str, value: Any, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        context["widget"] |= {
            "blocks": [self._block(name, line) for line in value or [{}] * self.opens],
            "blank_block": self._block(name, {}),
            "inner": self.inner,
        }
        return context

    def _block(self, name: str, block: Line) -> dict[str, object]:
        inner_name = f"{name}-{self.inner_key}"
        lines = block.get(self.inner_key) or [{}]
        return {
            "inputs": self.inputs(name, block),
            "begins": [(f"{inner_name}-{column.key}", _BEGINS) for column in self.lines.columns],
            "lines": [self.lines.inputs(inner_name, line) for line in lines],
            "blank": self.lines.inputs(inner_name, {}),
        }

    def value_from_datadict(self, data: object, files: object, name: str) -> TypedLines:
        insides: list[TypedLines] = []
        for line in self.lines.posted_lines(data, f"{name}-{self.inner_key}"):
            if set(line.values()) == {_BEGINS}:
                insides.append(TypedLines())
            elif insides and self.lines.is_typed(line):
                insides[-1].append(line)
        blocks = self.posted_lines(data, name)
        # Other clients may leave out the hidden lines.
        insides += [TypedLines()] * (len(blocks) - len(insides))
        return TypedLines(
            block | {self.inner_key: inside}
            for block, inside in zip(blocks, insides, strict=False)
            if inside or self.is_typed(block)
        )


class RecordBlocks(RecordLines):
    """A list of objects, one key of which is a mapping from names to matchers."""

    def __init__(
        self,
        columns: Sequence[LineColumn],
        *,
        inner_key: str,
        inner: MatcherLines,
        opens: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(columns, **kwargs)
        self.widget = BlocksWidget(columns, inner_key=inner_key, inner=inner, opens=opens)
        self.inner_key = inner_key
        self.inner = inner

    def to_lines(self, value: Sequence[Any]) -> Iterable[Line]:
        for item in value:
            record = {self.bare_key: item} if isinstance(item, str) else dict(item)
            inside = record.pop(self.inner_key, {})
            (line,) = super().to_lines([record])
            yield line | {self.inner_key: TypedLines(self.inner.to_lines(inside))}

    def read(self, lines: TypedLines) -> list[Any]:
        records = super().read(lines)
        for number, line in enumerate(lines, 1):
            if not line[self.inner_key]:
                continue
            try:
                inside = self.inner.read(line[self.inner_key])
            except ValidationError as error:
                raise ValidationError(
                    f"Line {number}, {str(self.inner.label).lower()}: {error.messages[0]}"
                ) from None
            record = records[number - 1]
            known = {self.bare_key: record} if isinstance(record, str) else record
            records[number - 1] = known | {self.inner_key: inside}
        return records
