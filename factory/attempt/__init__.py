"""Runs the attempts of one order, each through propose, apply, judge and conclude."""
