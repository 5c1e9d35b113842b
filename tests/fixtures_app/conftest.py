"""The pages as the site loads them: Unfold's templates need those of `evals_app`, and the other way round."""

import evalsite.urls  # noqa: F401
