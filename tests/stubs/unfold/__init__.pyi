# What this project uses of Unfold, whose own annotations are few and partly wrong.
