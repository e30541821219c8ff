"""Says what holds of each requirement at any commit, by running what it rests on."""
