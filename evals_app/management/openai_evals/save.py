"""The whole of a save: evals with their runs and items, what these name, and a list of it all."""

from collections.abc import Iterable
from typing import Any

from evals_app.management import usage_error
from evals_app.management.openai_evals.api import FailedError, StoppedError
from evals_app.management.openai_evals.evals import Found, eval_folder, find_evals, save_eval
from evals_app.management.openai_evals.folder import MANIFEST
from evals_app.management.openai_evals.named import SavedItem
from evals_app.management.openai_evals.report import ALWAYS, unfinished_report
from evals_app.management.openai_evals.work import Work

_OTHER_ACCOUNT = "{} is a save of another account ({}: {} there, {} now). Name a new folder."
_OTHER_EVALS = (
    "{} has {:,} evals, and this key sees none of them, so it seems to be of another project. Name a "
    "new folder."
)


async def save_everything(work: Work) -> None:
    """Save all there is, and write down what was saved.

    Raises:
        CommandError: nothing can be read, or the folder is of another account.
        OSError: the folder cannot be written.
    """
    try:
        evals = await find_evals(work)
    except (FailedError, StoppedError) as error:
        raise usage_error(f"The evals cannot be listed. {error}") from error
    account = _account(work)
    _check_account(work, account, evals)
    start = unfinished_report(account, work.report.began_at)
    work.folder.write_json(MANIFEST, work.folder.earlier | start)
    named = SavedItem(work=work)
    try:
        for number, found in enumerate(evals, 1):
            await save_eval(work, found, f"{number:,} of {len(evals):,}")
        await named.save()
    except StoppedError as error:
        _count_rest(work, len(evals))
        named.count_waiting()
        work.report.miss("everything that is not counted", work.api.account.base_url, str(error))
    work.report.gone.sort()
    work.report.elsewhere += sorted(work.named.elsewhere)
    work.folder.write_json(MANIFEST, work.report.manifest(account, work.folder))


def _account(work: Work) -> dict[str, str]:
    """Return what is known of the account; never the key."""
    api = work.api
    known = {
        "base_url": api.account.base_url,
        "organization": api.account.organization,
        "project": api.account.project,
        "organization_of_the_key": api.organization,
        "project_of_the_key": api.project,
    }
    return {name: value for name, value in known.items() if value}


def _check_account(work: Work, account: dict[str, str], evals: Iterable[Found]) -> None:
    """Refuse to add to a save of another account, or of another project.

    Raises:
        CommandError: it is one.
    """
    before: Any = work.folder.earlier.get("account", {})
    for name, value in account.items():
        if before.get(name, value) != value:
            raise usage_error(_OTHER_ACCOUNT.format(work.folder.root, name, before[name], value))
    saved = [found for found in evals if not found.is_listed]
    listed = (eval_folder(found.id) for found in evals if found.is_listed)
    if saved and not any((work.folder.root / name).exists() for name in listed):
        raise usage_error(_OTHER_EVALS.format(work.folder.root, len(saved)))


def _count_rest(work: Work, evals: int) -> None:
    """Mark every number as a minimum."""
    for kind, count in work.report.counts.items():
        count.is_least = kind in ALWAYS or count.expected > 0
    counted = work.report.counts["evals"]
    counted.expected = max(counted.expected, evals)
