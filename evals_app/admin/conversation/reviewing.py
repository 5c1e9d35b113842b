"""Reviews on the page of an execution: what people say beside each grade, and the buttons to say it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.admin.kit.permissions import ReadOnly, requires
from evals_app.admin.kit.presentation import CAUSES, badge, people_badge, verdict_state
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import GradeStatus
from evals_app.engine.verdicts.overruling import Consensus, bullets, consensus, overruled
from evals_app.models import Execution, GradeResult, Review
from evals_app.reports.words.figures import score_text
from evals_app.runs.reviews.decisions import given_grade, word_of
from evals_app.runs.reviews.reviewing import (
    REVIEWING,
    CannotReviewError,
    comment,
    may_withdraw,
    not_the_agents_fault,
    review_grade,
    withdraw,
)

_KEY_DIGITS = 18
# What people may give on the scales of judges.
_SCORES = {
    "1-5": [(f"{grade}", (grade - 1) / 4) for grade in range(5, 0, -1)],
    "0-1": [(f"{tenth / 10:g}", tenth / 10) for tenth in range(10, -1, -1)],
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a review may be about: a grade, a bullet of its rubric, or the execution.

    `passed` is what the grade says, None if nothing; on a `scale` people give a score, too. What only
    shows a number can be neither right nor wrong.
    """

    name: str
    grade: int | None = None
    item: int | None = None
    passed: bool | None = None
    scale: str = ""
    can_be_right: bool = True
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
    def scores(self) -> list[tuple[str, float]]:
        return _SCORES.get(self.scale, [])

    def verdict(self, *, agrees: bool) -> bool:
        """Return the verdict of a person who agrees with the grade, or says that the check passes."""
        return agrees if self.passed is None else self.passed is agrees


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """What one person said."""

    review: Review
    badge: SafeString
    word: str
    remark: str
    may_withdraw: bool


@dataclass(frozen=True, slots=True)
class ReviewBlock:
    """What people say of a subject, what follows, and what the reader said of it: agree, disagree."""

    subject: Subject
    lines: tuple[ReviewLine, ...] = ()
    withdrawn: tuple[ReviewLine, ...] = ()
    decided: SafeString | str = ""
    is_disputed: bool = False
    own: str = ""
    has_bullets: bool = False  # which have blocks of their own
    url: str = ""  # that takes what is said
    can_blame: bool = False

    @property
    def is_silent(self) -> bool:
        return not (self.lines or self.withdrawn)

    @property
    def buttons(self) -> SafeString:
        """Return the buttons; not by a template, because a page may have a thousand of them."""
        subject = self.subject
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
        buttons.append(format_html(_BUTTON, "comment", self._opens_form, "Comment"))
        return format_html(_ROW, subject.key, subject.grade or "", item, _joined(buttons))

    @property
    def _opens_form(self) -> SafeString:
        return format_html(
            'hx-get="{}" hx-target="next .people-form" hx-swap="innerHTML"', self.url
        )

    def _vote(self, key: str, word: str, text: str, action: SafeString) -> SafeString:
        is_pressed = "true" if self.own == word else "false"
        pressed = format_html('data-say="{}" aria-pressed="{}" {}', key, is_pressed, action)
        label = format_html('{} <kbd aria-hidden="true">{}</kbd>', text, key)
        return format_html(_BUTTON, word, pressed, label)


def _joined(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("\n", "{}", ((part,) for part in parts))


_AS_A_WHOLE = "The rubric as a whole:"
_BLAME = "Not the agent's fault"
_BUTTON = '<button type="button" class="people-button" name="word" value="{}" {}>{}</button>'
_ROW = (
    '<p class="people-buttons" hx-target="#people-{}" hx-swap="outerHTML"'
    """ hx-vals='{{"grade": "{}", "item": "{}"}}'>{}</p>"""
)


@dataclass(frozen=True, slots=True)
class Reviews:
    """All reviews of an execution, for the person who reads its page."""

    execution: Execution
    user: Any
    all: Sequence[Review]
    scale: str
    url: str

    @classmethod
    def of(cls, execution: Execution, user: Any) -> "Reviews":
        rows = Review.objects.filter(execution=execution).select_related(
            "withdrawn_by", "carried_from__execution"
        )
        url = reverse("admin:evals_app_execution_review", args=[execution.pk])
        return cls(execution, user, list(rows.order_by("pk")), execution.run.score_scale, url)

    def blocks_of(self, grade: GradeResult) -> "GradeBlocks":
        """Return the block of a grade, and those of its bullets by number."""
        about = [review for review in self.all if review.grade_id == grade.pk]
        given = given_grade(grade, map(word_of, filter(_counts, about)))
        new = overruled(given)
        decided: SafeString | str = ""
        if new is not None:
            state = verdict_state(new.passed, otherwise="informational")
            word = {True: "Passed", False: "Failed", None: score_text(new.score, scale=self.scale)}
            decided = people_badge(state, word[new.passed])
        scale = _scale_of(grade)
        only_informs = grade.passed is None and grade.status == GradeStatus.OK and not scale
        whole = Subject(
            grade.label, grade.pk, passed=grade.passed, scale=scale, can_be_right=not only_informs
        )
        items = {
            number: self._bullet(grade, number, about, met=met)
            for number, met in bullets(grade.details).items()
        }
        of_whole = [review for review in about if review.item is None]
        block = self._block(whole, of_whole, decided)
        return GradeBlocks(replace(block, has_bullets=bool(items)), items)

    def of_execution(self) -> ReviewBlock:
        """Return the block of the execution itself."""
        about = [review for review in self.all if review.grade_id is None]
        block = self._block(Subject("this conversation", can_be_right=False), about, "")
        return replace(block, can_blame=verdict_of(self.execution) != "passed")

    def _bullet(
        self, grade: GradeResult, number: int, about: Iterable[Review], *, met: bool | None
    ) -> ReviewBlock:
        of_bullet = [review for review in about if review.item == number]
        subject = Subject(
            f"bullet {number}", grade.pk, number, passed=met, words=("It is met", "It is missed")
        )
        people = _people(of_bullet)
        decided: SafeString | str = ""
        if people.passed is not None and people.passed is not met:
            state = verdict_state(people.passed, otherwise="")
            decided = people_badge(state, "Met" if people.passed else "Missed")
        return self._block(subject, of_bullet, decided)

    def _block(
        self, subject: Subject, about: Sequence[Review], decided: SafeString | str
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

    def _line(self, review: Review, subject: Subject) -> ReviewLine:
        is_current = review.withdrawn_at is None
        state, word = _sign(review, subject)
        return ReviewLine(
            review,
            badge(state, word=word),
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


def _people(reviews: Iterable[Review]) -> Consensus:
    return consensus(map(word_of, filter(_counts, reviews)))


def _scale_of(grade: GradeResult) -> str:
    """Return the scale of a judge on which people can give a score, too."""
    scale = str(grade.details.get("scale"))
    is_graded = grade.family == "judged" and grade.score is not None
    return scale if is_graded and scale in _SCORES else ""


def _agrees(review: Review, subject: Subject) -> bool:
    if review.judged_score is not None and review.score is not None:
        return review.score == review.judged_score
    return review.passed is (subject.passed is not False)


def _sign(review: Review, subject: Subject) -> tuple[str, str]:
    """Return what a person said as the state and the word of a badge."""
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
    """Say where a review comes from, and whether it counts."""
    parts = []
    if review.carried_from is not None:
        parts.append(f"from run {review.carried_from.execution.run_id}")
    if review.is_label:
        parts.append("about another wording, so it does not count")
    if review.was_blind:
        parts.append("before seeing the grade")
    return ", ".join(parts)


class ReviewActions(ReadOnly):
    """The buttons beside grades."""

    has_review_permission = requires(REVIEWING)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/review/", view(self.review), name="evals_app_execution_review"),
            path(
                "<int:pk>/review/<int:review>/withdraw/",
                view(self.withdraw),
                name="evals_app_execution_withdraw",
            ),
            *super().get_urls(),
        ]

    def review(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the form of a word (GET), or take it (POST) and return what has changed."""
        execution = self._reviewable(request, pk)
        given = request.POST if request.method == "POST" else request.GET
        grade, item = _grade(execution, given.get("grade")), _number(given.get("item"))
        word = given.get("word", "")
        if word not in _WORDS:
            raise Http404
        block = _block_of(execution, request, grade, item)
        context = {"execution": execution, "block": block, "word": word, "form": _WORDS[word]}
        if request.method != "POST":
            return render(request, "admin/evals_app/conversation/review_form.html", context)
        try:
            _take(word, given, block.subject, execution=execution, grade=grade, by=request.user)
        except CannotError as error:
            problem = {"problem": str(error), "reason": given.get("reason", "")}
            return render(
                request, "admin/evals_app/conversation/review_form.html", context | problem
            )
        return self._changed(request, execution, grade, item)

    def withdraw(self, request: HttpRequest, pk: int, review: int) -> HttpResponse:
        """Withdraw a review, and return what has changed."""
        execution = self._reviewable(request, pk)
        row = get_object_or_404(
            Review.objects.select_related("grade", "execution"), pk=review, execution=execution
        )
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        user: Any = request.user
        if not may_withdraw(row, user):
            raise PermissionDenied
        try:
            withdraw(row, by=user)
        except CannotError as error:
            return HttpResponse(str(error), status=409)
        return self._changed(request, execution, row.grade, row.item)

    def _reviewable(self, request: HttpRequest, pk: int) -> Execution:
        # admin_view() asks only whether the person is staff.
        if not (self.has_view_permission(request) and self.has_review_permission(request)):
            raise PermissionDenied
        return get_object_or_404(Execution.objects.select_related("run"), pk=pk)

    def _changed(
        self,
        request: HttpRequest,
        execution: Execution,
        grade: GradeResult | None,
        item: int | None,
    ) -> HttpResponse:
        """Return the blocks that a word may change, and the verdict."""
        fresh = Execution.objects.select_related("run", "reviewed").get(pk=execution.pk)
        reviews = Reviews.of(fresh, request.user)
        blocks = [reviews.of_execution()]
        if grade is not None:
            of_grade = reviews.blocks_of(grade)
            blocks = [of_grade.whole]
            if item is not None and item in of_grade.items:
                blocks = [of_grade.items[item], of_grade.whole]
        context = {
            "execution": fresh,
            "may_review": True,
            "block": blocks[0],
            "others": blocks[1:],
            **people_verdict(fresh),
        }
        return render(request, "admin/evals_app/conversation/reviewed.html", context)


# What may be said: the heading of its form, whether it needs words, and what its button says.
_WORDS: dict[str, dict[str, Any]] = {
    "agree": {},
    "disagree": {"label": "Because", "submit": "Save"},
    "comment": {"label": "Comment", "is_required": True, "submit": "Save"},
    "not_the_agent": {
        "label": "Why is it not the agent's fault?",
        "is_required": True,
        "submit": "Save",
    },
}


def verdict_of(execution: Execution) -> str:
    """Return the verdict of an execution, with the decisions of people if there are any."""
    return getattr(execution, "reviewed", execution).verdict


def people_verdict(execution: Execution) -> dict[str, Any]:
    """Return the verdict with the decisions of people, if there is one."""
    row = getattr(execution, "reviewed", None)
    if row is None:
        return {"people": None}
    cause = "" if row.cause == "case" else CAUSES.get(row.cause, "")
    return {
        "people": row,
        "people_badge": people_badge(row.verdict),
        "people_cause": cause,
    }


def _take(
    word: str,
    given: Mapping[str, str],
    subject: Subject,
    *,
    execution: Execution,
    grade: GradeResult | None,
    by: Any,
) -> None:
    """Write what a person says."""
    reason = given.get("reason", "")
    if word == "comment":
        comment(execution, by=by, reason=reason, grade=grade)
    elif word == "not_the_agent":
        not_the_agents_fault(execution, by=by, reason=reason)
    elif grade is None:
        raise CannotReviewError("Choose a grade.")
    else:
        agrees = word == "agree"
        passed: bool | None = subject.verdict(agrees=agrees)
        score = None
        if subject.scores:
            score = grade.score if agrees else _score(given.get("score"), subject)
        review_grade(grade, by=by, passed=passed, item=subject.item, score=score, reason=reason)


def _score(given: str | None, subject: Subject) -> float:
    for name, score in subject.scores:
        if name == given:
            return score
    raise CannotReviewError("Choose the grade that is right.")


def _grade(execution: Execution, given: str | None) -> GradeResult | None:
    if not given:
        return None
    rows = GradeResult.objects.select_related("yardstick", "execution__run").defer("calls")
    return get_object_or_404(rows, execution=execution, pk=_number(given) or 0)


def _number(given: str | None) -> int | None:
    if not given:
        return None
    if not given.isdecimal() or len(given) > _KEY_DIGITS:
        raise Http404
    return int(given)


def _block_of(
    execution: Execution, request: HttpRequest, grade: GradeResult | None, item: int | None
) -> ReviewBlock:
    reviews = Reviews.of(execution, request.user)
    if grade is None:
        return reviews.of_execution()
    blocks = reviews.blocks_of(grade)
    if item is None:
        return blocks.whole
    if item not in blocks.items:
        raise Http404
    return blocks.items[item]
