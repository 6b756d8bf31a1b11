"""What has been spent: the account of one data set, its currency, where it is stored, and runs that are tried again."""

from discreet.ledger.currency import Currency, CurrencyName
from discreet.ledger.ledger import Detached, Ledger, open_ledger

__all__ = [
    "Currency",
    "CurrencyName",
    "Detached",
    "Ledger",
    "open_ledger",
]
