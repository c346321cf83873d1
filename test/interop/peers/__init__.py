"""Back ends of other projects, as child processes with everything they need around them."""
