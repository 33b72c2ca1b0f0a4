"""Programs as users write them, by subject; `catalogue` lists them."""
