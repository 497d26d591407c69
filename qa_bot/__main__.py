"""``python -m qa_bot`` is ``qa-bot``."""

from qa_bot.cli import main

main()
