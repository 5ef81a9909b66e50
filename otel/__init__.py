"""Events: emitting, searching, following and exporting them."""
