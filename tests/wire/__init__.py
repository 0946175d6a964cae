"""Files of earlier versions: replays, records and known differences that users have must remain readable."""
