"""Rules on rows of elsewhere: whether they still hold, for whom, and where they run."""
