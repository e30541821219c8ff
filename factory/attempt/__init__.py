"""One pass of the loop: propose, apply, judge, conclude."""
