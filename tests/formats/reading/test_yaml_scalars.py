import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.formats.reading.yaml_scalars import is_surprising, resolve_scalar


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param("12", 12, id="number"),
        pytest.param("-1.5", -1.5, id="float"),
        pytest.param("true", True, id="true"),
        pytest.param("+", "+", id="lone sign"),
        pytest.param("nO", "nO", id="odd spelling of no"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("0x_", "0x_", id="hexadecimal without digits"),
        pytest.param("0b", "0b", id="binary without digits"),
        pytest.param("0b101", 5, id="binary"),
        pytest.param("+012", 10, id="octal with a sign"),
        pytest.param("089", "089", id="leading zero, no octal"),
        pytest.param("1__0", 10, id="underscores"),
        pytest.param("._1", "._1", id="no float"),
        pytest.param("3.", 3.0, id="float without decimals"),
        pytest.param("-.5", -0.5, id="float without a whole part"),
        pytest.param("1e-09", 1e-9, id="exponent as JSON writes it"),
        pytest.param("1e9", 1e9, id="exponent without a sign"),
        pytest.param("-2E+3", -2000.0, id="exponent in capitals"),
        pytest.param("1.5e9", 1.5e9, id="decimals and no sign"),
        pytest.param("12e4567", "12e4567", id="the beginning of a hash"),
        pytest.param("01e5", "01e5", id="leading zero before an exponent"),
        pytest.param("1e", "1e", id="no exponent"),
        pytest.param("1.2.3", "1.2.3", id="version"),
        pytest.param("2024-01-01", "2024-01-01", id="date"),
        pytest.param("٣", "٣", id="digit of another script"),
        pytest.param("NULL", None, id="null in capitals"),
        pytest.param("nUll", "nUll", id="null in odd case"),
        pytest.param("On", True, id="on"),
        pytest.param("y", "y", id="y is text"),
    ],
)
def test_a_plain_scalar_is_read_as_yaml_does(raw: str, value: object) -> None:
    scalar = resolve_scalar(raw)

    assert (scalar, type(scalar)) == (value, type(value))


@given(st.text("0123456789+-._xbABF~ynofNOF", max_size=12))
def test_every_scalar_is_json(raw: str) -> None:
    value = resolve_scalar(raw)

    assert value is None or isinstance(value, str | bool | int | float)
    assert is_surprising(raw, value) in {True, False}


@pytest.mark.parametrize("raw", [".nan", "-.inf", "+.INF", "1.0e+999", "1" * 1001])
def test_numbers_that_json_does_not_have_are_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="quote"):
        resolve_scalar(raw)
