"""The ground floor: the language of programs, observations, the tape model, the reference, the rule catalogue."""
