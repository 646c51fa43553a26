"""Views of a lab: in the terminal, and as one page of HTML."""

from colocate.lab.watch.ladder import Rung, ladder
from colocate.lab.watch.last_review import last_review
from colocate.lab.watch.page import html_page
from colocate.lab.watch.terminal import lineage_tree, program_page, status_page

__all__ = [
    "Rung",
    "html_page",
    "ladder",
    "last_review",
    "lineage_tree",
    "program_page",
    "status_page",
]
