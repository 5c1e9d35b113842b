"""From a trial to verdicts: grades, scores, limits, gates, and what people overrule.

`execution_verdict`, `case_summary` and `run_summary` have every rule. An agent that crashes, times
out, exceeds a limit or answers nothing has failed. A model API that stays unavailable, a judge that
cannot grade or a worker that died too often makes an execution errored: it counts in no rate and no
mean, and a run that has one cannot pass. Where all checks only inform, it is measured. A certain
failure outweighs what could not be graded, unless the conversation itself broke off or Evalwell
caused it. A run without a passed execution never passes, and everything that a script decided is
labelled as scripted.

`grading` alone puts score and threshold in front of a reason.
"""
