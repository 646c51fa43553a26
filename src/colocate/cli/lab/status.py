"""`colocate lab status`: the progress of a lab."""

from colocate.cli.lab.options import FOLDER, Folder


def status(lab: Folder = FOLDER) -> None:
    """Print the progress of a lab: its ladder, its plot, its islands and its costs."""
    from colocate.lab.archive import Archive
    from colocate.lab.lab_folder import archive_path
    from colocate.lab.watch import status_page
    from colocate.outputs.text.console import show

    with Archive.open(archive_path(lab)) as archive:
        show(*status_page(archive))
