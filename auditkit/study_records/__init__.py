"""The frozen records of a policy study: its settings, the ledger of its arms, its results."""
