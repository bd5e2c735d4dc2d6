"""What a code host is asked and told over the network. A host that does not answer fails no check."""
