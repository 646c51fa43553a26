"""The text of the last review."""

from colocate.lab.archive import Archive
from colocate.lab.review.report import Review, worded
from colocate.outputs.text.sanitise import visible


def last_review(archive: Archive, wording: str | None = None) -> str:
    """Return the text of the last review, or a note that there is none.

    A model's wording replaces it if every figure in the wording is a fact of the archive; see
    `worded`.
    """
    reviews = archive.reviews()
    if not reviews:
        return f"No review yet; the first comes after {archive.setting('review')} programs."
    _, facts = reviews[-1]
    review = Review.from_dict(facts)
    return visible(review.text() if wording is None else worded(review, wording))
