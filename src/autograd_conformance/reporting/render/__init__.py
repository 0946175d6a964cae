"""Reports as text, as Markdown, in the terminal."""
