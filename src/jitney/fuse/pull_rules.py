"""How the elements of each operation's result are found: at the same index, by a rule, or stored.

In: rules as they are registered (`pull_*.py`). Out: `PULL_RULES`: the rules by operation. What has
none and is not elementwise must be stored.
"""

PULL_RULES: dict = {}


def pull_rule(op: str):
    """Registers the rule that pulls one element of an operation's result."""

    def register(rule):
        PULL_RULES[op] = rule
        return rule

    return register
