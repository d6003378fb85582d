"""Gray boxes: what the learner would have said had some labels been different, without training again."""
