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
    "breaker": "It rests a connector that keeps failing (open), then tries it again (half-open).",
    "connector": "A function of yours that pulls an account from another system.",
    "cooldown": "The least time between two runs of an account.",
    "credits": "The unit of charges. Stored as whole micro-credits.",
    "dead": "A message that used up its attempts or was rejected. It waits for a person.",
    "debounce": "The time after an event of an account in which another of its type is skipped.",
    "decision": "One verdict in the ledger, by its `decision_id`, and the run that it caused.",
    "deferral": "A DEFER: the event is retried once, in a slot that is reserved for it.",
    "entry": "One line of the ledger.",
    "flip": "A verdict that another policy would have given otherwise.",
    "handler": "A function of yours that a worker calls.",
    "heat": "How warm an account is, from posture, and from how many signals came how recently.",
    "heat tier": "HOT, WARM or COLD: how often an account is pulled.",
    "intent": "One asked-for action of a plan, which policy or a person allows.",
    "kill switch": "It stops runs, pulls or actions at once, for all, for a tenant or for a part.",
    "lease": "A worker's hold on a message. It is renewed while the handler runs.",
    "ledger": "The log of all that was decided and done, by tenant, without gaps.",
    "message": "A row of the outbox: something that is to be delivered under a topic.",
    "milestone": "A moment after a tenant's installation at which a report is made.",
    "model tier": "A class of models, such as premium, with a quota of its own.",
    "outbox": "The table of messages, written in the transaction of what they tell.",
    "outcome": "How a run, a turn or an action ended.",
    "plan": "Ordered steps towards an objective for an account. (`policy plan` is a replay.)",
    "policy": "The document of all limits and rules. It has versions.",
    "posture": "How it stands with an account, in words of yours, such as AT_RISK.",
    "pull": "One poll of an account through a connector. It is deep or shallow and costs units.",
    "redrive": "To give a dead message its attempts again.",
    "report": "What was done for a tenant in a time, in counts.",
    "reserve": "To take quota for a turn before its work starts.",
    "run": "One call of the decision handler, caused by an ALLOW.",
    "schedule": "A trigger by the calendar.",
    "settle": "To end a turn: charge it and write its usage event.",
    "shadow": "A policy that is asked on every event beside the one in force, and never acts.",
    "signal": "A piece of news about an account.",
    "sink": "A webhook or NATS subject to which the messages of a topic are delivered.",
    "slot": "A moment that is reserved for the retry of a deferral.",
    "step": "One action of a plan.",
    "tenant": "A customer of yours. Nothing of one tenant is seen by another.",
    "tenant tier": "A part of the policy, `[tiers.NAME]`, that rules the tenants which have it.",
    "trigger": "An event that asks for a run of an account.",
    "turn": "One metered piece of work, such as a run or a chat turn.",
    "unit": "What a pull costs of the pull budget.",
    "usage event": "The message that tells billing what a turn used and was charged.",
    "verdict": "ALLOW, DEFER or SKIP: the answer to a trigger.",
    "worker": "A process or thread that delivers messages and calls handlers.",
}


def glossary_page() -> str:
    rows = [(f"*{word}*", meaning) for word, meaning in sorted(GLOSSARY.items())]
    return page("Glossary", INTRO, table(("word", "meaning"), rows))
