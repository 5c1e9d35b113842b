"""People against judges: tasks to check grades, and how far judges agree with people.

`grade_checking` sends nothing of the judge to the browser before the person has answered.
"""
