// Only here so that the precompiled header of the tests has a target.
