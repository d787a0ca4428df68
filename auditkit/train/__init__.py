"""Arms: base models, stages of training, soft labels, scores, and the ledger that says where each part came from.

Nothing here imports torch, transformers or peft before it is called.
"""
