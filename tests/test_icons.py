"""Every icon that the site can show is in its own icon font, and looks as in Unfold's."""

import base64
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from playwright.sync_api import Page

from tests import icons

MAX_BYTES = 40_000
# An icon is as wide as one letter; a word that is no icon is as wide as its letters.
SHOWN = """async ([fonts, words]) => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  for (const [name, data] of Object.entries(fonts)) {
    document.fonts.add(await new FontFace(name, `url(data:font/woff2;base64,${data})`).load());
  }
  const drawn = (font, word) => {
    context.font = `24px ${font}`;
    const width = context.measureText(word).width;
    if (Math.round(width) !== 24) return null;
    context.clearRect(0, 0, 30, 30);
    context.fillText(word, 3, 27);
    return context.getImageData(0, 0, 30, 30).data.join();
  };
  const wanted = words.filter((word) => drawn("whole", word));
  return [wanted, wanted.filter((word) => drawn("whole", word) !== drawn("ours", word))];
}"""


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_our_icon_font_is_small_and_served_in_place_of_unfolds() -> None:
    style = (icons.WHOLE.parent / "styles.css").read_text()
    files = re.findall(r'url\("?([^")]+)"?\)', style)

    assert [finders.find(str(icons.FONT.parent / name)) for name in files] == [str(icons.OURS)]
    assert icons.OURS.stat().st_size < MAX_BYTES


@pytest.mark.browser
@pytest.mark.slow
def test_every_icon_that_may_be_shown_is_in_our_font_and_looks_like_unfolds(page: Page) -> None:
    fonts = {"whole": encoded(icons.WHOLE), "ours": encoded(icons.OURS)}
    words = sorted(name for name in icons.names() if len(name) > 1)

    wanted, missing = page.evaluate(SHOWN, [fonts, words])

    assert {"add", "chevron_right", "delete", "play_arrow", "unfold_more"} < set(wanted)
    assert missing == []
