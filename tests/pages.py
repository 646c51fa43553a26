"""Pages of HTML, read as strictly as no browser does."""

from html.parser import HTMLParser

EMPTY_ELEMENTS = {"meta", "wbr"}


class Page(HTMLParser):
    """Reads a page and checks that every element is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.words = []
        self._open = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY_ELEMENTS:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    @property
    def shape(self):
        """What text must not change: elements and attributes, but for the breaks in names."""
        return [(tag, list(attributes)) for tag, attributes in self.elements if tag != "wbr"]

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
