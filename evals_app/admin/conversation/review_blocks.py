"""The reviews next to each grade of an execution, and their buttons; nothing is written here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.admin.kit.presentation import SIGNS, headline, mark, people_badge, verdict_state
from evals_app.engine.verdicts.overruling import Consensus, Ruling, bullets, consensus, overrule
from evals_app.models import Execution, GradeResult, Review
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.words.figures import score_text
from evals_app.runs.reviews.decisions import given_grade, ruling_of
from evals_app.runs.reviews.reviewing import SCORES, can_be_right, may_withdraw, scale_of
from fixtures_app.editing.markup import icon_span


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """The subject of a review: a grade, a bullet of its rubric, or the execution.

    `passed` is the verdict of the grade; on a `scale` people give a score, too. A subject that only
    shows a number can be neither right nor wrong. A limit is arithmetic: no page asks whether it is
    right.
    """

    name: str
    grade: int | None = None
    item: int | None = None
    passed: bool | None = None
    scale: str = ""
    can_be_right: bool = True
    is_limit: bool = False
    words: tuple[str, str] = ("It passes", "It fails")

    @property
    def key(self) -> str:
        """The end of the id of its block."""
        parts = [self.grade or "execution", *([] if self.item is None else [self.item])]
        return "-".join(map(str, parts))

    @property
    def agree(self) -> str:
        return self.words[0] if self._is_open else "Right"

    @property
    def disagree(self) -> str:
        return self.words[1] if self._is_open else "Wrong"

    @property
    def _is_open(self) -> bool:
        return self.passed is None and not self.scale

    @property
    def scores(self) -> Sequence[tuple[str, float]]:
        """The scores that people may give."""
        return SCORES.get(self.scale, ())


_CONVERSATION = ReviewSubject("this conversation", can_be_right=False)


def subject_of(grade: GradeResult | None, item: int | None = None) -> ReviewSubject | None:
    """Return the subject of a review; None if the rubric does not have this bullet."""
    if grade is None:
        return _CONVERSATION
    if item is None:
        return _subject_of_grade(grade)
    met = bullets(grade.details)
    return _subject_of_bullet(grade, item, met=met[item]) if item in met else None


def _subject_of_grade(grade: GradeResult) -> ReviewSubject:
    return ReviewSubject(
        grade.label,
        grade.pk,
        passed=grade.passed,
        scale=scale_of(grade),
        can_be_right=can_be_right(grade),
        is_limit=grade.family == "limit",
    )


def _subject_of_bullet(grade: GradeResult, number: int, *, met: bool | None) -> ReviewSubject:
    return ReviewSubject(
        f"bullet {number}", grade.pk, number, passed=met, words=("It is met", "It is missed")
    )


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """The review of one person."""

    review: Review
    badge: SafeString
    word: str
    remark: str
    may_withdraw: bool


@dataclass(frozen=True, slots=True)
class ReviewBlock:
    """The reviews of a subject, the resulting verdict, and the reader's own: agree, disagree."""

    subject: ReviewSubject
    lines: tuple[ReviewLine, ...] = ()
    withdrawn: tuple[ReviewLine, ...] = ()
    decided: SafeString | str = ""
    is_disputed: bool = False
    own: str = ""
    has_bullets: bool = False  # which have blocks of their own
    url: str = ""  # that stores a review
    can_blame: bool = False

    @property
    def is_silent(self) -> bool:
        return not (self.lines or self.withdrawn)

    @property
    def buttons(self) -> SafeString:
        """Return the buttons. Templates are too slow: a page may have a thousand of them."""
        subject = self.subject
        if subject.is_limit:
            return SafeString()
        item = "" if subject.item is None else subject.item
        buttons = []
        if self.has_bullets:
            buttons.append(format_html('<span class="quiet">{}</span>', _AS_A_WHOLE))
        if subject.can_be_right:
            buttons += [
                self._vote("y", "agree", subject.agree, format_html('hx-post="{}"', self.url)),
                self._vote("x", "disagree", subject.disagree, self._opens_form),
            ]
        elif self.can_blame:
            buttons.append(format_html(_BUTTON, "not_the_agent", self._opens_form, _BLAME))
        remark = format_html("{}<span>Comment</span>", icon_span("forum"))
        buttons.append(format_html(_BUTTON, "comment", self._opens_form, remark))
        return format_html(_ROW, subject.key, subject.grade or "", item, _join_parts(buttons))

    @property
    def _opens_form(self) -> SafeString:
        return format_html(
            'hx-get="{}" hx-target="next .people-form" hx-swap="innerHTML"', self.url
        )

    def _vote(self, key: str, word: str, text: str, action: SafeString) -> SafeString:
        is_pressed = "true" if self.own == word else "false"
        pressed = format_html(
            'data-say="{}" title="{}" aria-pressed="{}" {}', key, text, is_pressed, action
        )
        icon = icon_span("check" if word == "agree" else "close")
        label = format_html('{}<span>{}</span> <kbd aria-hidden="true">{}</kbd>', icon, text, key)
        return format_html(_BUTTON, word, pressed, label)


def _join_parts(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("\n", "{}", ((part,) for part in parts))


_AS_A_WHOLE = "The rubric as a whole:"
_BLAME = "Not the agent's fault"
_BUTTON = '<button type="button" class="people-button" name="word" value="{}" {}>{}</button>'
_ROW = (
    '<p class="people-buttons" hx-target="#people-{}" hx-swap="outerHTML"'
    """ hx-vals='{{"grade": "{}", "item": "{}"}}'>{}</p>"""
)


@dataclass(frozen=True, slots=True)
class ExecutionReviews:
    """All reviews of an execution, as one reader of its page sees them."""

    execution: Execution
    user: Any
    all: Sequence[Review]
    scale: str
    url: str

    @classmethod
    def of(cls, execution: Execution, user: Any) -> "ExecutionReviews":
        rows = Review.objects.filter(execution=execution).select_related(
            "withdrawn_by", "carried_from__execution"
        )
        url = reverse("admin:evals_app_execution_review", args=[execution.pk])
        return cls(execution, user, list(rows.order_by("pk")), execution.run.score_scale, url)

    def blocks_of(self, grade: GradeResult) -> "GradeBlocks":
        """Return the block of a grade, and those of its bullets by number."""
        about = [review for review in self.all if review.grade_id == grade.pk]
        given = given_grade(grade, _words(about))
        new = overrule(given)
        decided: SafeString | str = ""
        if new is not None:
            state = verdict_state(new.passed, otherwise="informational")
            word = {True: "Passed", False: "Failed", None: score_text(new.score, scale=self.scale)}
            decided = people_badge(state, word[new.passed])
        items = {
            number: self._bullet(grade, number, about, met=met)
            for number, met in bullets(grade.details).items()
        }
        of_whole = [review for review in about if review.item is None]
        block = self._block(_subject_of_grade(grade), of_whole, decided)
        return GradeBlocks(replace(block, has_bullets=bool(items)), items)

    def of_execution(self) -> ReviewBlock:
        """Return the block of the execution itself."""
        about = [review for review in self.all if review.grade_id is None]
        block = self._block(_CONVERSATION, about, "")
        return replace(block, can_blame=verdict_of(self.execution) != "passed")

    def changed_by(self, grade: GradeResult | None, item: int | None) -> list[ReviewBlock]:
        """Return the blocks that a review can change, the block of its subject first."""
        if grade is None:
            return [self.of_execution()]
        blocks = self.blocks_of(grade)
        of_bullet = [block for number, block in blocks.items.items() if number == item]
        return [*of_bullet, blocks.whole]

    def _bullet(
        self, grade: GradeResult, number: int, about: Iterable[Review], *, met: bool | None
    ) -> ReviewBlock:
        of_bullet = [review for review in about if review.item == number]
        people = _people(of_bullet)
        decided: SafeString | str = ""
        if people.passed is not None and people.passed is not met:
            state = verdict_state(people.passed, otherwise="")
            decided = people_badge(state, "Met" if people.passed else "Missed")
        return self._block(_subject_of_bullet(grade, number, met=met), of_bullet, decided)

    def _block(
        self, subject: ReviewSubject, about: Sequence[Review], decided: SafeString | str
    ) -> ReviewBlock:
        own = ""
        for review in about:
            is_vote = review.kind == Review.Kind.VERDICT and review.passed is not None
            if is_vote and review.withdrawn_at is None and review.by_id == self.user.pk:
                own = "agree" if _agrees(review, subject) else "disagree"
        return ReviewBlock(
            subject,
            lines=tuple(self._line(r, subject) for r in about if r.withdrawn_at is None),
            withdrawn=tuple(self._line(r, subject) for r in about if r.withdrawn_at is not None),
            decided=decided,
            is_disputed=_people(about).is_disputed,
            own=own,
            url=self.url,
        )

    def _line(self, review: Review, subject: ReviewSubject) -> ReviewLine:
        is_current = review.withdrawn_at is None
        state, word = _sign(review, subject)
        return ReviewLine(
            review,
            mark(state, word=word),
            word,
            _remark(review),
            is_current and may_withdraw(review, self.user),
        )


@dataclass(frozen=True, slots=True)
class GradeBlocks:
    """The blocks of a grade and of its bullets by number."""

    whole: ReviewBlock
    items: Mapping[int, ReviewBlock]


def _counts(review: Review) -> bool:
    is_verdict = review.kind == Review.Kind.VERDICT
    return is_verdict and review.withdrawn_at is None and not review.is_label


def _words(reviews: Iterable[Review]) -> list[Ruling]:
    return [ruling_of(review) for review in reviews if _counts(review)]


def _people(reviews: Iterable[Review]) -> Consensus:
    return consensus(_words(reviews))


def _agrees(review: Review, subject: ReviewSubject) -> bool:
    if review.judged_score is not None and review.score is not None:
        return review.score == review.judged_score
    return review.passed is (subject.passed is not False)


def _sign(review: Review, subject: ReviewSubject) -> tuple[str, str]:
    """Return the state and the word of the badge of a review."""
    if review.kind != Review.Kind.VERDICT:
        is_comment = review.kind == Review.Kind.COMMENT
        return "informational" if is_comment else "errored", review.get_kind_display()
    if review.passed is None:
        return "ungraded", "Cannot tell"
    if _agrees(review, subject):
        return "passed", subject.agree
    if review.score is None:
        return "failed", subject.disagree
    names = {score: name for name, score in subject.scores}
    given = names.get(review.score, score_text(review.score, scale="0-1"))
    unit = " of 5" if subject.scale == "1-5" else ""
    return "failed", f"{subject.disagree}: {given}{unit}"


def _remark(review: Review) -> str:
    """Return where a review comes from, and whether it counts."""
    parts = []
    if review.carried_from is not None:
        parts.append(f"from run {review.carried_from.execution.run_id}")
    if review.is_label:
        parts.append("about another wording, so it does not count")
    if review.was_blind:
        parts.append("before seeing the grade")
    return ", ".join(parts)


def verdict_of(execution: Execution) -> str:
    """Return the verdict of an execution, with the decisions of people if there are any."""
    return getattr(execution, "reviewed", execution).verdict


def people_verdict(execution: Execution) -> dict[str, object]:
    """Return the verdict with the decisions of people, if there is one."""
    row = getattr(execution, "reviewed", None)
    if row is None:
        return {"people": None}
    sign = SIGNS[row.verdict]
    return {
        "people": row,
        "people_tone": sign.tone,
        "people_word": f"{sign.word} {WITH_PEOPLE}",
        "people_headline": headline(row),
    }
