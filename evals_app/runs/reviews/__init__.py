"""People's reviews of grades, and their consequences.

Only grades are overruled; verdicts follow by the rules of `engine.verdicts`. `decisions`
keeps `ReviewedVerdict` and the run's reviewed summary up to date under the run's lock, and reads
only the cases that people decided on. A grade stores a digest of what was asked, so that reviews are
carried to equal questions of later runs.
"""
