"""The tasks after the public benchmark: fleets on which programs have room to improve."""
