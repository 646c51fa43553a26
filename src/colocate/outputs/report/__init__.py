"""A plan as one page of HTML, to be shown to others."""

from colocate.advise.comparison import Alternative, Comparison, compare
from colocate.outputs.report.page import report_page

__all__ = ["Alternative", "Comparison", "compare", "report_page"]
