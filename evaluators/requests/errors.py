"""The errors of runs: of models, servers, the store of replies, and results.

::

    EyechartError
    ├── DataError
    │   ├── BadResultsError              a run's results were edited, or have another schema
    │   ├── EndpointError                a server did not answer a request, or its answer is malformed
    │   └── MissingPredictionError       a predictions file has no reply to a request
    ├── ModelError                       a model does not support what the run needs
    │   ├── QuotaError                   the account on a server has no credit left
    │   └── SpendingError                the next request might exceed the spending limit
    └── StoreError                       the store of replies cannot be read or written
"""

from eyechart.datasets_scripts.common.errors import DataError, EyechartError


class BadResultsError(DataError):
    """A run's results or predictions were edited, or have another schema."""


class EndpointError(DataError):
    """A server did not answer a request, or its answer is malformed.

    Attributes:
        status: The HTTP status if the server refused the request; None if it sent no answer or a malformed one.
        refused: The parameters of the request that the server's error names.
    """

    def __init__(self, reason: str, *, status: int | None = None, refused: tuple[str, ...] = ()) -> None:
        """Keep the reason, the status and the parameters."""
        super().__init__(reason)
        self.status = status
        self.refused = refused


class MissingPredictionError(DataError):
    """A predictions file has no reply to a request; its other replies remain valid."""


class ModelError(EyechartError):
    """A model does not support what the run needs."""


class QuotaError(ModelError):
    """The account on a server has no credit left."""


class SpendingError(ModelError):
    """The next request to a server might exceed the spending limit; the answers so far are stored."""


class StoreError(EyechartError):
    """The store of replies cannot be read or written; the stored replies are kept."""
