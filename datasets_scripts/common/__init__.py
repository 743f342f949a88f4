"""What the loading scripts share: errors, image reading, annotation readers, column kinds and builder bases."""
