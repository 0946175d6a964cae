"""Arrays and text that come from a framework, validated where they enter the suite."""
