"""What a run needs before it begins: which cases, judges, ways to compare texts, and prices.

    case_choice       which cases of a suite, how often, and with which model
    needs             what the checks need, collected in one pass
    obstacles         what keeps the run from starting, in sentences
    text_comparison   how texts are compared: the first method that is available
    model_choice      judges, comparison and prices together

A site and evals in Python (`evals_app.code`) prepare their runs by the same rules.
"""
