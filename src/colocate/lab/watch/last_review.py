"""What the last review says."""

from colocate.lab.archive import Archive
from colocate.lab.review import Review
from colocate.outputs.visible import visible


def last_review(archive: Archive) -> str:
    """Return the text of the last review, or that there is none."""
    reviews = archive.reviews()
    if not reviews:
        return f"No review yet; the first comes after {archive.setting('review')} programs."
    _, facts = reviews[-1]
    return visible(Review.from_dict(facts).text())
