"""What joins the nouns: a session with one framework, the check of one program, and failures made from verdicts."""
