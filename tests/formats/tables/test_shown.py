from datetime import date, datetime, time, timedelta

import pytest

from evals_app.formats.tables.shown import shown_text


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (None, "General", ""),
        ("as it is", "General", "as it is"),
        (True, "General", "TRUE"),
        (False, "0.00", "FALSE"),
        (42, "General", "42"),
        (42.0, "General", "42"),
        (0.1 + 0.2, "General", "0.3"),
        (1234567890123, "General", "1234567890123"),
        (12.5, "0.00", "12.50"),
        (2.345, "0.00", "2.35"),
        (-2.5, "0", "-3"),
        (0.125, "0%", "13%"),
        (0.125, "0.0%", "12.5%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234567, "#,##0", "1,234,567"),
        (7, "000", "007"),
        (-7, "000", "-007"),
        (0.5, "#.##", ".5"),
        (3, "0.0##", "3.0"),
        (3.25, "0.0##", "3.25"),
        (12.5, '"$"#,##0.00', "$12.50"),
        (12.5, '#,##0.00\\ "EUR"', "12.50 EUR"),
        (12.5, "#,##0.00 [$€-407]", "12.50 €"),
        (-12.5, '"$"#,##0.00_);[Red]("$"#,##0.00)', "($12.50)"),
        (12.5, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\)', "$12.50"),
        (5, '0 "pieces"', "5 pieces"),
        (12345, "0.00E+00", "12345"),
        (0.5, "# ?/?", "0.5"),
        (1500, "0.0,", "1500"),
        (50, "[>100]0.0;0", "50"),
        (1e300, "0.00", "1e+300"),
        (float("inf"), "0.00", "inf"),
    ],
)
def test_a_number_is_shown_as_its_format_says(
    value: object, number_format: str, shown: str
) -> None:
    assert shown_text(value, number_format) == shown


MOMENT = datetime(2026, 5, 1, 15, 4, 9)  # noqa: DTZ001 - spreadsheets know no zones


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (MOMENT, "yyyy-mm-dd", "2026-05-01"),
        (MOMENT, "d.m.yy", "1.5.26"),
        (MOMENT, "dd/mm/yyyy hh:mm:ss", "01/05/2026 15:04:09"),
        (MOMENT, "dddd, d mmmm yyyy", "Friday, 1 May 2026"),
        (MOMENT, "ddd d-mmm", "Fri 1-May"),
        (MOMENT, "h:mm AM/PM", "3:04 PM"),
        (MOMENT, "mm:ss", "04:09"),
        (MOMENT, 'h" h "mm', "15 h 04"),
        (MOMENT, "mm-dd-yy", "2026-05-01 15:04:09"),
        (date(2026, 5, 1), "mm-dd-yy", "2026-05-01"),
        (datetime(2026, 5, 1), "[$-F800]dddd", "2026-05-01"),  # noqa: DTZ001
        (time(9, 5), "h:mm", "9:05"),
        (time(9, 5), "General", "09:05:00"),
        (timedelta(hours=30, minutes=5, seconds=1), "[h]:mm:ss", "30:05:01"),
        (-timedelta(minutes=5), "[h]:mm", "-0:05:00"),
    ],
)
def test_a_day_or_time_is_shown_as_its_format_says(
    value: object, number_format: str, shown: str
) -> None:
    assert shown_text(value, number_format) == shown
