import pytest
from django.template import Context, Template
from django.urls import reverse

IN_MODAL = 'hx-target="#modal-content"'


def render(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            '{% icon "edit" %}',
            '<span class="material-symbols-outlined" aria-hidden="true">edit</span>',
        ),
        (
            '{% icon "edit" "change" %}',
            '<span class="material-symbols-outlined change" aria-hidden="true">edit</span>',
        ),
        ('{% small_badge "Off" %}', '<span class="ew-badge">Off</span>'),
        ('{% small_badge text "bad" %}', '<span class="ew-badge ew-bad">&lt;b&gt;</span>'),
        (
            '{% badge "good" text icon="link" %}',
            (
                '<span class="badge tone-good">'
                '<span class="material-symbols-outlined" aria-hidden="true">link</span>'
                "&lt;b&gt;</span>"
            ),
        ),
        ('{% verdict "bad" text %}', '<span class="ew-verdict is-bad">&lt;b&gt;</span>'),
        (
            '{% dots tones "1 of 2 passed" %}',
            (
                '<span class="ew-dots" role="img" aria-label="1 of 2 passed">'
                '<i class="ew-dot is-good"></i><i class="ew-dot is-bad"></i></span>'
            ),
        ),
        (
            '{% bar parts "3 passed, none failed" %}',
            '<div class="ew-bar" role="img" aria-label="3 passed, none failed"><i class="is-good" style="--n: 3"></i></div>',
        ),
        ('{% button "Show" %}', '<button class="review-button" type="submit">Show</button>'),
        (
            '{% button text icon="send" kind="primary" aria_describedby=text formnovalidate=True %}',
            (
                '<button aria-describedby="&lt;b&gt;" class="review-button is-primary" type="submit" formnovalidate>'
                '<span class="material-symbols-outlined" aria-hidden="true">send</span>'
                "&lt;b&gt;</button>"
            ),
        ),
        (
            '{% link_button "Next" href=address rel="next" %}',
            '<a class="review-button" href="/?a=1&amp;b=2" rel="next">Next</a>',
        ),
    ],
)
def test_a_tag_writes_its_markup_and_escapes_what_it_is_given(source: str, expected: str) -> None:
    context = {"tones": ["good", "bad"], "parts": [("good", 3), ("bad", 0)]}

    assert render(source, text="<b>", address="/?a=1&b=2", **context) == expected


def test_buttons_find_the_address_of_a_view() -> None:
    link = render('{% link_button "Edit" "admin:evals_app_case_change" pk %}', pk=3)
    dialog = render('{% dialog_button "Cancel" "admin:evals_app_run_cancel" pk %}', pk=3)

    assert f'href="{reverse("admin:evals_app_case_change", args=[3])}"' in link
    assert f'hx-get="{reverse("admin:evals_app_run_cancel", args=[3])}"' in dialog


def test_buttons_around_dialogs_do_not_send_the_form_that_they_are_in() -> None:
    opens, closes = render('{% dialog_button "Try" href="/x" %}|{% dismiss_button "No" %}').split(
        "|"
    )

    assert 'type="button"' in opens
    assert IN_MODAL in opens
    assert 'hx-get="/x"' in opens
    assert 'type="button"' in closes
    assert IN_MODAL not in closes
    assert IN_MODAL in render("<a{% into_dialog %}>")
