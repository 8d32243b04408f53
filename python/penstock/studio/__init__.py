"""`penstock studio`: a running graph, or an application in a file, in the browser.

`server.py` answers the page's requests; `files.py` holds what the page may do with the file that its start named; `page/` is the page.
"""
