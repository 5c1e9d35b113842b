"""The site's settings, with a grader that does harm and leases so short that it shows soon."""

from evals_app.engine.graders import GRADERS
from evalsite.settings import *  # noqa: F403 - all of them
from tests.faults.harm import Harm

vars(GRADERS)["_all"] = {**GRADERS, "harm": Harm}  # as if a plug-in offered it

EVALS_LEASE_S = 3.0
EVALS_HEARTBEAT_S = 0.5
EVALS_REAP_S = 0.5
