"""Reports as one self-contained HTML page: pictures, times, where the time went, timelines, checks, the machine."""

from penstock.report.page import Picture, Scale, Section, write_page

__all__ = ["Picture", "Scale", "Section", "write_page"]
