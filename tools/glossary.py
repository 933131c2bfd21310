"""The page of the words that code, docs and pages share: one word, one meaning."""

from __future__ import annotations

from tools.markdown import page, table

INTRO = """\
One word has one meaning in the code, in these pages and in the dashboard. *Tier* always comes with
its owner: tenant tier, heat tier or model tier."""

GLOSSARY = {
    "account": "The thing an agent looks after, such as a customer. It belongs to a tenant.",
    "action": "A function or webhook of yours that carries out a step of a plan.",
    "attempt": "One try to deliver a message, or to carry out a step.",
    "binding check": "The check that gave a verdict which is not ALLOW.",
    "breaker": "A pause of a connector that keeps failing (open), then one trial (half-open).",
    "connector": "A function of yours that pulls an account from another system.",
    "cooldown": "The minimum time between two runs of an account.",
    "credits": "The unit of charges. Stored as whole micro-credits.",
    "dead": "A message that used up its attempts or was rejected. It waits for a person.",
    "debounce": "The time after an event of an account in which another of its type is skipped.",
    "decision": "One verdict in the ledger, by its `decision_id`, and the run that it caused.",
    "deferral": "A DEFER: the event is retried once, in a slot that is reserved for it.",
    "entry": "One line of the ledger.",
    "flip": "A verdict that would differ under another policy.",
    "handler": "A function of yours that a worker calls.",
    "heat": "A score of an account, from its posture and the number and age of its signals.",
    "heat tier": "HOT, WARM or COLD: how often an account is pulled.",
    "intent": "A request for one action of a plan. The policy or a person approves it.",
    "kill switch": "A switch that stops runs, pulls or actions at once, of all tenants or of one.",
    "lease": "A worker's claim on a message. It is renewed while the handler runs.",
    "ledger": "The log of all decisions and actions of a tenant, without gaps.",
    "message": "A row of the outbox: a payload to deliver under a topic.",
    "milestone": "A time after a tenant's installation at which a report is generated.",
    "model tier": "A class of models, such as premium, with a quota of its own.",
    "outbox": "The table of messages. A message is written in the transaction of its cause.",
    "outcome": "The result of a run, a turn or an action.",
    "plan": "Ordered steps towards an objective for an account. (`policy plan` is a replay.)",
    "policy": "The document of all limits and rules. It has versions.",
    "posture": "Your own word for the state of an account, such as AT_RISK.",
    "pull": "One poll of an account through a connector. It is deep or shallow and costs units.",
    "redrive": "To give a dead message its attempts again.",
    "report": "Counts of the work done for a tenant in a period.",
    "reserve": "To take quota for a turn before its work starts.",
    "run": "One call of the decision handler, caused by an ALLOW.",
    "schedule": "A trigger by the calendar.",
    "settle": "To end a turn: charge it and write its usage event.",
    "shadow": "A policy that is evaluated on every event beside the one in force, without effect.",
    "signal": "An event about an account, sent by you or returned by a pull.",
    "sink": "A webhook or NATS subject to which the messages of a topic are delivered.",
    "slot": "A time that is reserved for the retry of a deferral.",
    "step": "One action of a plan.",
    "tenant": "A customer of yours. Nothing of one tenant is seen by another.",
    "tenant tier": "A part of the policy, `[tiers.NAME]`, that rules the tenants which have it.",
    "trigger": "An event that asks for a run of an account.",
    "turn": "One metered piece of work, such as a run or a chat turn.",
    "unit": "The measure of the pull budget: each pull costs some units.",
    "usage event": "The message to billing with the usage and the charge of a turn.",
    "verdict": "ALLOW, DEFER or SKIP: the answer to a trigger.",
    "worker": "A process or thread that delivers messages and calls handlers.",
}


def glossary_page() -> str:
    rows = [(f"*{word}*", meaning) for word, meaning in sorted(GLOSSARY.items())]
    return page("Glossary", INTRO, table(("word", "meaning"), rows))
