"""Why a plan is as it is: facts with figures, no words."""
