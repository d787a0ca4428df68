"""auditkit: find benchmark items in a training pool, take them out, and tell labelling policy from capability."""
