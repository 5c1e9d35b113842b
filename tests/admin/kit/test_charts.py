import json

from evals_app.admin.kit.charts import Series, line_chart


def test_the_lines_of_a_chart_differ_without_colour_too() -> None:
    lines = [Series(f"suite {number}", [1.0]) for number in range(10)]

    datasets = json.loads(line_chart(["last"], lines, y="passed, %").data)["datasets"]

    looks = {(tuple(line["borderDash"]), line["pointStyle"]) for line in datasets}
    assert len(looks) == len(lines)


def test_what_is_unknown_is_a_gap_and_not_zero() -> None:
    chart = line_chart(["before", "last"], [Series("Refunds", [None, 0.0])], y="passed, %")

    (line,) = json.loads(chart.data)["datasets"]
    assert line["data"] == [None, 0.0]


def test_only_an_axis_of_percents_ends_at_100() -> None:
    def axis(*, is_percent: bool) -> object:
        chart = line_chart(["last"], [], y="value", is_percent=is_percent)
        return json.loads(chart.options)["scales"]["y"].get("max")

    assert axis(is_percent=True) == 100
    assert axis(is_percent=False) is None
