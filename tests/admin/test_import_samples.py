from evals_app.admin.import_samples import sample_workbook
from evals_app.formats.tables import DIALECT
from evals_app.formats.tables.separated import read_csv
from evals_app.formats.tables.workbook import read_xlsx


def test_the_sample_of_a_table_can_be_had_as_a_workbook() -> None:
    ((path, text),) = DIALECT.sample

    (rows,) = read_csv(path, text.encode()).data.values()
    written = read_xlsx("sample.xlsx", sample_workbook()).data["Cases"]

    assert written == [row[: len(cells)] for row, cells in zip(rows, written, strict=True)]
    assert written[0] == rows[0]
