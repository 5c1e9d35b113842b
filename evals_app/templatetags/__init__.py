"""Tags that every template has without `{% load %}`; settings list them as builtins."""
