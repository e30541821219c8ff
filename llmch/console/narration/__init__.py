"""Says in lines what happens: the events of calls, plans and orders."""
