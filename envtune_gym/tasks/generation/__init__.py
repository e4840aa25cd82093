"""How generated tasks are made: shape, plan, speech, categories, proof."""
