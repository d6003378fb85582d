"""The report: a diagnosis as plain data, and that data as one HTML page."""

from __future__ import annotations

from psidebug.report.comparison import write_comparison
from psidebug.report.notebook import in_a_notebook
from psidebug.report.page import write_report
from psidebug.report.rows import RowView, views
from psidebug.report.summary import Summary, summarise

__all__ = ["RowView", "Summary", "in_a_notebook", "summarise", "views", "write_comparison", "write_report"]
