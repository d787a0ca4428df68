"""What only the whole pool can tell: shards are observed one by one, what they gave is put together."""
