"""What the last review says."""

from colocate.lab.archive import Archive
from colocate.lab.review.report import Review, worded
from colocate.outputs.text.sanitise import visible


def last_review(archive: Archive, wording: str | None = None) -> str:
    """Return the text of the last review, or that there is none.

    A wording by a model takes its place if every figure in it is a fact of the archive; see
    `worded`.
    """
    reviews = archive.reviews()
    if not reviews:
        return f"No review yet; the first comes after {archive.setting('review')} programs."
    _, facts = reviews[-1]
    review = Review.from_dict(facts)
    return visible(review.text() if wording is None else worded(review, wording))
