"""The Hugging Face hub: files of a model, downloaded by `huggingface_hub`, which is an extra.

What is downloaded goes to the local cache of the hub, where it is found without a network later.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.text_file import LARGEST_FILE

LOG_IN = "accept its terms on its page, then log in with `hf auth login` or HF_TOKEN"
INSTEAD = "give a config.json as config, or size_gb"
FORBIDDEN = (401, 403)
"""HTTP status codes of what only some may read."""


class Hub:
    """Downloads files of models. A hub that does not answer once is not asked again.

    Parameters
    ----------
    cache
        The folder to download to.
    """

    def __init__(self, cache: Path) -> None:
        if find_spec("huggingface_hub") is None:
            raise InputError("--download needs huggingface_hub: pip install 'colocate[hub]'")
        self._cache = cache
        self._silence = ""

    def download(self, name: str, file: str) -> Path | None:
        """Download a file of a model and return where it is, None if the model has no such file.

        Parameters
        ----------
        name
            Of the model on the hub.
        file
            Its name in the model's repository.

        Raises
        ------
        InputError
            If the model is not there or gated, the file is too large, or the hub cannot be reached.
        """
        if self._silence:
            raise _refusal(name, self._silence, "try again later")
        hub: Any = import_module("huggingface_hub")
        errors: Any = import_module("huggingface_hub.errors")
        _be_quiet()
        try:
            # Asked first: this call has a time limit and does not try again and again
            size = hub.get_hf_file_metadata(hub.hf_hub_url(name, file)).size
            if size is not None and size > LARGEST_FILE:
                raise _refusal(name, f"{file} has {size} bytes, at most {LARGEST_FILE} are read")
            return Path(hub.hf_hub_download(name, file, cache_dir=self._cache))
        except errors.RemoteEntryNotFoundError:
            return None
        except errors.GatedRepoError:
            raise _refusal(name, "is gated", LOG_IN) from None
        except errors.RepositoryNotFoundError:
            found = "is not there, or is private"
            raise _refusal(name, found, "check the name, or log in") from None
        except errors.HfHubHTTPError as error:
            code = error.response.status_code
            advice = LOG_IN if code in FORBIDDEN else INSTEAD
            raise _refusal(name, f"is refused with HTTP status {code}", advice) from None
        except (errors.HTTPError, OSError) as error:
            self._silence = f"cannot be reached ({_reason(error)})"
            raise _refusal(name, self._silence, f"try again later, or {INSTEAD}") from None


def _refusal(name: str, found: str, advice: str = INSTEAD) -> InputError:
    return InputError(Fault(found, advice=advice, file=f"{name} on the Hugging Face hub"))


def _reason(error: Exception) -> str:
    """Return what went wrong in the network, by the error at the bottom of it."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return next(iter(str(cause).splitlines()), "") or type(cause).__name__


def _be_quiet() -> None:
    """Let the library print neither progress nor warnings: errors are told here."""
    tools: Any = import_module("huggingface_hub.utils")
    tools.disable_progress_bars()
    tools.logging.set_verbosity_error()
