"""A reader of CQL text that answers by it: decimals, three truth values, the grammar's precedence.

It knows what libraries of rules are made of, from Clinical Quality Language 1.5, chapter 9 and
appendix L, and nothing of ELM.
"""

import re
from decimal import Decimal

TOKEN = re.compile(
    r"\s+|//[^\n]*"
    r"""|(?P<text>'(?:[^'\\]|\\.)*')|(?P<name>"(?:[^"\\]|\\.)*")"""
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<mark><|>=|[={},:()+-])",
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def tokens(text):
    found, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match, text[place : place + 40]
        place = match.end()
        if match.lastgroup:
            found.append((match.lastgroup, match.group()))
    return [*found, ("end", "")]


def plain(quoted):
    """Return what stands in quotes."""
    return ESCAPE.sub(
        lambda m: chr(int(m[1], 16)) if m[1] else LETTERS.get(m[2], m[2]), quoted[1:-1]
    )


class Library:
    """A library: `name`, `version`, `parameters` with their types, and what it defines."""

    def __init__(self, text):
        self.tokens, self.place = tokens(text), 0
        self.take("library")
        self.name = plain(self.next()[1])
        self.take("version")
        self.version = plain(self.next()[1])
        self.parameters, self.definitions = {}, {}
        while self.taken("parameter"):
            name = plain(self.next()[1])
            assert name not in self.parameters
            self.parameters[name] = self.next()[1]
        self.take("context")
        self.take("Unfiltered")
        while self.taken("define"):
            name = plain(self.next()[1])
            assert name not in self.parameters | self.definitions
            self.take(":")
            self.definitions[name] = self.either()
        assert self.next()[0] == "end"

    def answer(self, values):
        """Return what each definition says for the parameters' values, None where they lack."""
        found = dict(values)
        assert found.keys() == self.parameters.keys()
        for name, expression in self.definitions.items():
            found[name] = expression(found)
        return {name: found[name] for name in self.definitions}

    def next(self):
        self.place += 1
        return self.tokens[self.place - 1]

    def taken(self, *words):
        """Take a word or mark if it comes next."""
        kind, text = self.tokens[self.place]
        if kind in ("word", "mark") and text in words:
            self.place += 1
            return text
        return None

    def take(self, word):
        assert self.taken(word), (word, self.tokens[self.place : self.place + 5])

    def either(self):
        left = self.both()
        while self.taken("or"):
            left = either(left, self.both())
        return left

    def both(self):
        left = self.member()
        while self.taken("and"):
            left = negated(either(negated(left), negated(self.member())))
        return left

    def member(self):
        left = self.equal()
        if self.taken("in"):
            self.take("{")
            listed = [self.sum()]
            while self.taken(","):
                listed.append(self.sum())
            self.take("}")
            return compared(left, lambda env: [own(env) for own in listed], lambda a, b: a in b)
        return left

    def equal(self):
        left = self.ordered()
        return compared(left, self.ordered(), equals) if self.taken("=") else left

    def ordered(self):
        left = self.judged()
        match self.taken("<", ">="):
            case "<":
                return compared(left, self.judged(), lambda a, b: a < b)
            case ">=":
                return compared(left, self.judged(), lambda a, b: a >= b)
        return left

    def judged(self):
        if self.taken("not"):
            return negated(self.judged())
        left = self.sum()
        while self.taken("is"):
            left = judged(left, {"null": None, "true": True, "false": False}[self.next()[1]])
        return left

    def sum(self):
        left = self.term()
        while self.taken("+"):
            left = compared(left, self.term(), lambda a, b: a + b)
        return left

    def term(self):
        if self.taken("-"):
            own = self.term()
            return lambda env: -own(env)
        if self.taken("("):
            own = self.either()
            self.take(")")
            return own
        if self.taken("case"):
            return self.case()
        kind, text = self.next()
        if kind == "name":
            name = plain(text)
            return lambda env: env[name]
        value = {"null": None, "true": True, "false": False}.get(text)
        match kind:
            case "text":
                value = plain(text)
            case "number":
                value = Decimal(text) if "." in text else int(text)
                # What an engine of the standard refuses.
                assert abs(value) < (10**20 if "." in text else 2**31)
                assert len(text.partition(".")[2]) <= 8
            case _:
                assert text in ("null", "true", "false"), text
        return lambda _: value

    def case(self):
        comparand = None if self.tokens[self.place][1] == "when" else self.either()
        items = []
        while self.taken("when"):
            when = self.either()
            self.take("then")
            items.append((when, self.either()))
        self.take("else")
        rest = self.either()
        self.take("end")

        def choose(env):
            for when, then in items:
                if (when(env) if comparand is None else equals(comparand(env), when(env))) is True:
                    return then(env)
            return rest(env)

        return choose


def equals(a, b):
    return type(a) is type(b) and a == b


def compared(left, right, how):
    def own(env):
        a, b = left(env), right(env)
        return None if a is None or b is None else how(a, b)

    return own


def either(left, right):
    def own(env):
        pair = (left(env), right(env))
        return True if True in pair else None if None in pair else False

    return own


def negated(of):
    def own(env):
        value = of(env)
        return None if value is None else not value

    return own


def judged(of, wanted):
    return lambda env: of(env) is wanted
