"""Browsers in words, as far as people tell theirs apart: "Firefox on Windows"."""

# The first that is found: each names others, too.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
_SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "Mac",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def browser_in_words(header: str) -> str:
    """Return what a header User-Agent says, in words."""
    browser = next((name for part, name in _BROWSERS.items() if part in header), "")
    system = next((name for part, name in _SYSTEMS.items() if part in header), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown browser"
