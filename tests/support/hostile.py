"""Texts that break out of some language's quotes, comments, templates or names, by what they try.

Data alone; `strategies.texts(hostile=True)` draws them, and strings of several together.
"""

LONG = "a" * 70  # longer than the 63 bytes of a name that PostgreSQL keeps

# fmt: off
HOSTILE = {
    "quotes": ["'", '"', "''", '"""', "'''", "`", "``", "[", "]", "]]", "‘", "”", "$$", "$a$"],
    "backslashes": ["\\", "\\'", '\\"', "\\\\", "\\n", "\\N", "\\u0041", "\\x41", "\\u{41}", "\\0"],
    "comments": ["/*", "*/", "//", "--", "-->", "<!--", "#", "{#", "#}", "/*!", "/*+", "rem ", ";"],
    "statements": [
        "; DROP TABLE data; --", "'); DROP TABLE data; --", "' OR '1'='1", "\n#error\n",
        '");}int main(void){', "\nimport os\n", "'''\nraise SystemExit\n'''", "__import__('os')",
        "</script><script>alert(1)</script>", "<script>alert(1)</script>", "=1+1", "[x](file:y)",
    ],
    "templates": ["{{ x }}", "{{", "}}", "{% raw %}", "{% endraw %}", "${x}", "`${x}`", "#{x}"],
    "formats": ["%s", "%(x)s", "%n", "{0}", "{x}", "$1", ":x", "?", "@x", "%", "&x"],
    "trigraphs": ["??/", "??=", "??'", "??)", "<%", "%:"],
    "line ends": ["\n", "a\nb", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"],
    "blanks": [" ", " a", "a ", "a  b", "\t", "\xa0", "\u3000", "\u200b"],
    "control": ["\x01", "\x07", "\x08", "\x1a", "\x1b[31m", "\x7f", "\x9b", "\ufeff", "\uffff"],
    "directions": ["\u202e", "\u200f", "\u2066", "\u2069", "עברית", "\u202eabc\u202c"],
    "letters": [
        "é", "e\u0301", "É", "ß", "SS", "ss", "ı", "İ", "i", "I", "ſ", "K", "ﬁ", "Σ", "ς", "µ", "μ",
        "Å", "𝔘", "😀", "👩‍🔬", "漢字", "a\u0301\u0302\u0303",
    ],
    "cases": ["a", "A", "b", "B", "age", "AGE", "Age", "x", "X", "é9", "e9", "É9"],
    "prefixes": [LONG, LONG + "b", LONG + "B", "A" * 70, "é" * 70, "é" * 70 + "b", "x" * 300],
    "missing": ["null", "NULL", "None", "nan", "NaN", "NA", "N/A", "undefined", "nil", "missing"],
    "numbers": ["0", "1", "-1", "1.0", "1e5", "inf", "-inf", "Infinity", "0x10", "1_0", "01"],
    "booleans": ["true", "false", "True", "False", "yes", "no", "t", "f"],
    "reserved": [
        "select", "table", "from", "order", "group", "user", "rowid", "oid", "ctid", "current_date",
        "int", "class", "def", "for", "lambda", "register", "inline", "EOF", "NAN", "INT64_MIN",
        "function", "await", "this", "eval", "arguments", "__proto__", "constructor", "toString",
        "hasOwnProperty", "prototype", "length", "__class__", "__name__", "self", "linux", "unix",
    ],
    "identifiers": [
        "leaf", "prediction", "label", "value", "probability_0", "probabilities", "data", "answers",
        "found", "row", "rows", "predict", "predict_proba", "predictProba", "input", "out", "proba",
        "FEATURES", "CLASSES", "ANSWERS", "PROBABILITIES", "_ANSWERS", "_PROBABILITIES", "_float64",
        "_subtree_1", "subtree1", "cuts_1", "cuts", "ways", "literal", "rules", "MISSING", "unused",
        "drawn_rules", "drawn_rules_input", "drawn_rules_leaf", "DRAWN_RULES_MISSING", "constant",
        "N", "C", "leaf_id", "ensemble", "read", "number", "category", "ValueError", "source",
    ],
    "words": ["a|b", "not listed", "go to step 2", "below 9", "R0", "a.b", "a,b", "a=b", "a/b"],
    "marks": ['R"(', ")", "&amp;", "&", "<b>", "*a*", "_", "__", "~", "^", "|", "!", "../x"],
}
# fmt: on
HOSTILE_TEXTS = list(dict.fromkeys(text for group in HOSTILE.values() for text in group))
