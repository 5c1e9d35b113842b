"""Judges: what they are asked, how they graded, and how far people agree with them.

A judged criterion is a criterion in one exact wording with its judge. Its calibration is computed
from reviews and never stored. A suite may require agreement with people (`min_judge_agreement`);
the run then freezes how its judges agreed, and a judge that is not trusted is recorded with weight
0. Judges are counted while results are recorded, so that no page reads all grades.
"""
