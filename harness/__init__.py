"""What joins the nouns: one session with one framework, the check of one program, and the making of failures from verdicts."""
