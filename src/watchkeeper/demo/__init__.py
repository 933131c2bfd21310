"""The demo: four tenants through all stages, by the real admission, outbox and workers.

Time is real. The demo's tenants live fast instead: the policy of their tiers counts
seconds where the shipped one counts minutes, so that a storm, its cooldown and the run
that follows it all fit into half a minute. Every other tenant keeps the shipped rules.

`troupe` brings everybody together: `traffic` (what comes in), `looking` (perceive), `handler`
(decide), `spending` and `notes` (settle), `acting` and `colleague` (act). `play` lets them move,
`scene` is what they share, `screen` shows it.
"""
