"""The demo: four tenants under real traffic, through the real admission, outbox and workers.

Time is real. The demo's tenants live fast instead: the policy of their tiers counts
seconds where the shipped one counts minutes, so that a storm, its cooldown and the run
that follows it all fit into half a minute. Every other tenant keeps the shipped rules.
"""
