"""What people are called."""

from django.contrib.auth.models import User


def shown_name(person: User) -> str:
    """Return a person's name as pages show it: the full name, else the user name."""
    return str(person.get_full_name() or person.get_username())


def author_of(person: User) -> dict[str, object]:
    """Return the columns of who wrote a row; the name stays after the user is deleted."""
    return {"by": person, "by_name": shown_name(person)[:150]}
