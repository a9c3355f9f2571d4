"""page_data.py - the data that a page of classify --html or merge --format html holds"""
import html.parser
import json


class Script(html.parser.HTMLParser):
    """The text of <script id="data">."""
    text, here = "", False

    def handle_starttag(self, tag, attrs):
        self.here = tag == "script" and ("id", "data") in attrs

    def handle_endtag(self, tag):
        self.here = False

    def handle_data(self, data):
        self.text += data if self.here else ""


def page_data(path):
    parser = Script()
    with open(path, encoding="utf-8") as page:
        parser.feed(page.read())
    return json.loads(parser.text)
