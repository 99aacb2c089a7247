"""Always-on recording of a whole machine: minutes of whole call chains, labelled, spooled and shipped to a store."""
