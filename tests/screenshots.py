"""The pictures of the guide: `python -m tests.screenshots` takes all of them again.

It starts an empty site in a temporary folder, with a real worker, and follows `docs/without-code.md` and
`docs/reviewing.md` in Chromium. Look at the difference of `docs/images` before you commit it. An argument is another
folder to write to.
"""

import base64
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from openpyxl import load_workbook
from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

from tests.browser import CHROMIUM_ARGUMENTS, chromium
from tests.journeys import real_conversations as real
from tests.journeys import without_code as guide
from tests.journeys.picking import open_more, search_kind

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PICTURES = (
    "agent-rules",
    "agent-starts",
    "case-check",
    "case-editor",
    "check-grade",
    "check-picker",
    "comparison",
    "conversations-import",
    "conversations-read",
    "entities",
    "pasted-data",
    "import",
    "grade-again",
    "group-check",
    "invitation",
    "judge-passport",
    "note-groups",
    "review",
    "review-phone",
    "reviewed",
    "run",
    "run-dialog",
    "start",
    "suite",
    "talk",
)
HOST = "127.0.0.1"
PASSWORD = "only-for-pictures"
DESK: ViewportSize = {"width": 1360, "height": 850}
# So high that the bar with the buttons covers no part of a page.
ALL: ViewportSize = {"width": 1360, "height": 4000}
PHONE: ViewportSize = {"width": 390, "height": 844}
QUALITY = 82  # of WebP; below it, small letters blur
MARGIN = 8
# What differs each time, and what moves.
STILL = r"""() => {
    for (const time of document.querySelectorAll("time")) time.textContent = "1 May 2026, 09:30";
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        texts.currentNode.data = texts.currentNode.data
            .replace(/\d{4}-\d\d-\d\d at \d\d:\d\d/g, "2026-05-01 at 09:30")
            .replace(/\d[\d,]*\s+ms\b/g, "3 ms");
    }
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent !important; }";
    document.head.append(style);
}"""
SHOWN = """isBesideBar => {
    const bar = document.getElementById("nav-sidebar").getBoundingClientRect();
    const x = isBesideBar ? Math.max(0, bar.right) : 0;
    return {x, y: scrollY, width: innerWidth - x, height: innerHeight, scale: 1};
}"""


class Camera:
    """Takes the pictures of a page, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: set[str] = set()

    def take(
        self, name: str, of: Page | Locator, *, height: int = 0, has_side_bar: bool = False
    ) -> None:
        """Write what a page shows, usually without its side bar, or one part of it."""
        if name not in PICTURES or name in self.taken:
            raise ValueError(f"{name} is not in PICTURES, or taken twice.")
        page = of if isinstance(of, Page) else of.page
        page.wait_for_load_state("networkidle")
        page.evaluate(STILL)
        before = page.viewport_size or DESK
        if isinstance(of, Locator):
            page.set_viewport_size(ALL)
            clip = _clip(of)
        else:
            page.set_viewport_size({**before, "height": height or before["height"]})
            clip = page.evaluate(SHOWN, not has_side_bar)
        session = page.context.new_cdp_session(page)
        picture = session.send(
            "Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "clip": clip}
        )["data"]
        session.detach()
        page.set_viewport_size(before)
        (self.folder / f"{name}.webp").write_bytes(base64.b64decode(picture))
        self.taken.add(name)


def _clip(part: Locator) -> dict[str, float]:
    """Return the place of a part, with some room around it."""
    x, y, width, height = part.evaluate(
        "part => { const box = part.getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height]; }"
    )
    left, top = max(0, x - MARGIN), max(0, y - MARGIN)
    right, bottom = x + width + MARGIN, y + height + MARGIN
    return {"x": left, "y": top, "width": right - left, "height": bottom - top, "scale": 1}


Manage = Callable[..., object]  # runs a command of the site


def photograph(page: Page, camera: Camera, folder: Path, manage: Manage) -> None:
    """Follow the guide, and take a picture at each station."""
    camera.take("start", page, has_side_bar=True)
    _data(page, camera)
    _agent(page, camera)
    _cases(page, camera)
    _results(page, camera)
    camera.take("invitation", _invitation(page), height=360)
    _spreadsheet(page, camera, folder)
    _reviews(page, camera, manage)
    _real_conversations(page, camera, folder, manage)


def _data(page: Page, camera: Camera) -> None:
    guide.paste_the_data(page)
    camera.take("pasted-data", page)
    guide.save(page, "**/fixture/*/change/")
    camera.take("entities", page.locator(".ew-group").first)


def _agent(page: Page, camera: Camera) -> None:
    guide.add_the_agent(page)
    camera.take("agent-starts", page)
    guide.begin_the_agent(page)
    guide.write_the_rules(page)
    guide.save(page, "**/agent/*/change/")
    guide.open_agent(page)
    page.locator(".ew-rule-row summary").first.click()
    camera.take("agent-rules", page.locator("[data-formset]", has=page.locator(".ew-rule-row")))
    guide.talk(page, "Where is order 1002?", "Order 1002 is open.")
    camera.take("talk", page)


def _cases(page: Page, camera: Camera) -> None:
    guide.open_agent(page)
    guide.write_the_first_suite(page)
    guide.save(page, "**/case/add/**")
    guide.fill_in_case(page, "Look-up", "Where is order 1002?")
    guide.field(page, "Expected answer").fill("open")
    camera.take("case-editor", page, height=960)
    guide.try_a_check(page.locator(".ew-check-row").last, "It has shipped.")
    camera.take("case-check", page.locator(".ew-check-row").last)
    guide.save(page, "**/cases/")

    guide.start_case(page, "Numeric answer", "How many orders are there?")
    guide.field(page, "Expected answer").fill("5")
    page.get_by_role("button", name="Add a check").first.click()
    camera.take("check-picker", page)
    search_kind(page, "Tool was called")
    guide.field(page, "Tool").fill("entity.query")
    guide.save(page, "**/cases/")

    guide.copy_case(page, "Where is order 1002?", "Where is order 1003?", "shipped")
    guide.save(page, "**/cases/")


def _results(page: Page, camera: Camera) -> None:
    guide.ask_to_run(page)
    camera.take("run-dialog", page.get_by_role("dialog"))
    guide.run_the_suite(page)
    failed = page.get_by_role("link", name="Where is order 1003?", exact=True).first
    page.get_by_text("Finished").wait_for(timeout=guide.PATIENCE_MS)
    camera.take("run", page, height=1100)
    failed.click()
    camera.take("review", page, height=1000)
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.reload()  # the theme is chosen when a page loads
    camera.take("review-phone", page)
    page.set_viewport_size(DESK)
    page.emulate_media(color_scheme="light")

    guide.correct_the_agent(page)
    guide.save(page, "**/agent/")
    guide.open_suite(page)
    guide.ask_to_run(page)
    guide.run_the_suite(page)
    page.get_by_text("3 passed").first.wait_for(timeout=guide.PATIENCE_MS)
    guide.compare(page)
    camera.take("comparison", page, height=1250)
    guide.open_suite(page)
    camera.take("suite", page, height=620)


def _invitation(page: Page) -> Page:
    guide.invite(page)
    # The link is a secret of the site, and differs each time.
    link = "https://evalwell.example.org/invitation/…"
    page.get_by_label("Link").evaluate("(input, link) => { input.value = link; }", link)
    return page


def _spreadsheet(page: Page, camera: Camera, folder: Path) -> None:
    guide.open_suite(page)
    table = guide.export_spreadsheet(page, folder)
    workbook = load_workbook(table)
    sheet = workbook.worksheets[0]
    copied = {"Where is order 1002?": "1002: any news?"}
    sheet.append([copied.get(str(cell.value), cell.value) for cell in sheet[2]])
    workbook.save(table)
    guide.check_files(page, table)
    camera.take("import", page, height=620)


def _reviews(page: Page, camera: Camera, manage: Manage) -> None:
    """Review the results of an example that a judge graded."""
    manage("import_evals", str(ROOT / "examples" / "letters"))
    manage("run_evals", "letters", "--no-progress", fails=True)
    guide.go_to(page, "Results")
    page.get_by_role("main").get_by_role("link", name="Letters").first.click()
    open_more(page)
    page.get_by_role("button", name="Grade again").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("agent is not asked").wait_for()
    camera.take("grade-again", dialog)
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("button", name="Check grades").last.click()
    page.get_by_label("Grades to check").fill("20")
    page.get_by_role("dialog").get_by_role("button", name="Draw grades").click()
    page.get_by_role("link", name="Start checking").click()
    camera.take("check-grade", page, height=1000)
    while page.get_by_role("button", name="Meets it").count():
        page.get_by_role("button", name="Meets it").click()
        page.get_by_role("link", name="Next").or_(
            page.get_by_role("link", name="See the result")
        ).first.click()
    guide.go_to(page, "Judges", fold="More")
    page.get_by_role("link", name="Judges compared with people").click()
    page.get_by_role("main").get_by_role("table").get_by_role("link").first.click()
    camera.take("judge-passport", page, height=1250)
    guide.go_to(page, "Conversations", fold="More")
    page.get_by_role("main").get_by_role("link", name="Where is order 1003?").last.click()
    page.get_by_role("button", name="Wrong").first.click()
    page.get_by_label("Because").fill("The customer asked about another order.")
    page.get_by_role("button", name="Save").first.click()
    page.get_by_text("with people's decisions").first.wait_for()
    camera.take("reviewed", page, height=1000)


def _real_conversations(page: Page, camera: Camera, folder: Path, manage: Manage) -> None:
    """Import the export of a help desk, read some of it, and make a check of a group."""
    files = [folder / name for name in real.FILES]
    for file in files:
        file.write_text(real.FILES[file.name])
    manage("import_evals", *map(str, files))
    real.choose_export(page, real.write_export(folder))
    camera.take("conversations-import", page, height=1300)
    real.import_export(page)
    real.begin_to_read(page, 40)
    while " 9 euros" not in page.locator(".review-chat").inner_text():
        real.answer(page)
    page.get_by_label("What went wrong").fill(real.WRONG_PRICE)
    camera.take("conversations-read", page, height=700)
    page.reload()
    real.read_all(page)
    real.group_notes(page)
    page.evaluate("scrollTo(0, 0)")
    camera.take("note-groups", page, height=800)
    real.try_check(page)
    page.get_by_role("heading", name="The judge agrees").wait_for(timeout=guide.PATIENCE_MS)
    camera.take("group-check", page, height=900)


@contextmanager
def _site(data: Path) -> Iterator[tuple[str, Manage]]:
    """Serve an empty site that works on runs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVALWELL_", "EVALS_")) and not name.endswith("_API_KEY")
    }
    environment |= {"EVALWELL_DATA_DIR": str(data), "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    environment.pop("DATABASE_URL", None)

    def manage(*words: str) -> list[str]:
        return [sys.executable, "manage.py", *words]

    def run(*words: str, fails: bool = False) -> object:
        """Run a command; examples fail on purpose, which is no error then."""
        return subprocess.run(manage(*words), cwd=ROOT, env=environment, check=not fails)

    admin = ("createsuperuser", "--noinput", "--username", "maria", "--email", "maria@example.org")
    for command in (("migrate", "-v0"), admin):
        run(*command)
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    served = subprocess.Popen(
        manage("serve", "--bind", f"{HOST}:{port}", "--grace", "0"), cwd=ROOT, env=environment
    )
    try:
        _wait_for(served, port)
        yield f"http://{HOST}:{port}", run
    finally:
        served.terminate()
        served.wait(timeout=60)


def _wait_for(served: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + guide.PATIENCE_MS / 1000
    while True:
        try:
            socket.create_connection((HOST, port), timeout=5).close()
        except OSError as error:
            if served.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError("The site did not start.") from error
            time.sleep(0.2)
        else:
            return


def _signed_in(browser: Browser, address: str) -> Page:
    context = browser.new_context(
        viewport=DESK,
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
        bypass_csp=True,  # for STILL
    )
    page = context.new_page()
    page.goto(f"{address}/admin/login/")
    page.get_by_label("Username").fill("maria")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")
    return page


def main() -> None:
    images = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    images.mkdir(parents=True, exist_ok=True)
    camera = Camera(images)
    with (
        tempfile.TemporaryDirectory(prefix="evalwell-pictures-") as folder,
        _site(Path(folder)) as (address, manage),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=[*CHROMIUM_ARGUMENTS, "--lang=en-GB"]
        )
        page = _signed_in(browser, address)
        try:
            photograph(page, camera, Path(folder), manage)
        finally:
            browser.close()
    if missing := set(PICTURES) - camera.taken:
        raise RuntimeError(f"Not taken: {', '.join(sorted(missing))}.")


if __name__ == "__main__":
    main()
