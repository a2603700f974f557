r"""The grammar of the filter language, and the parser made of it: LALR, so linear in the text.

Which terminals are looked for depends on where the parser is: `5 min` is one value behind an
operator and two words elsewhere, `and` is a word behind an operator.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR: Final = r"""
?start: either
?either: both (_OR both)*
?both: negation (_AND? negation)*
?negation: _NOT negation -> without | atom
?atom: "(" either ")" | comparison | text
text: WORD | PATH | STRING
comparison: field OP value | field _IN "(" item ("," item)* ")" -> membership
field: WORD | PATH
value: VALUE | QUANTITY | STRING
item: ITEM | STRING

OP.3: "==" | "!=" | "<=" | ">=" | "<" | ">" | /(?i:contains|matches)(?=[\s"'(]|$)/
_IN.3: /(?i:in)(?=[\s(]|$)/
_AND.3: /(?i:and)(?=[\s"'()]|$)/
_OR.3: /(?i:or)(?=[\s"'()]|$)/
_NOT.3: /(?i:not)(?=[\s"'()]|$)/
STRING.3: /"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'/s
PATH.2: /(?:params|result|error)(?:\.[^\s"'()\[\],=!<>.]+|\[\d{1,9}\]|\["(?:[^"\\]|\\.)*+"\])+/s
QUANTITY.2: /-?\d+(?:\.\d+)?\s(?:us|µs|ms|sec|s|min|m|h|d|[kKMGT]?i?[bB])(?=[\s)]|$)/
WORD: /(?:[^\s"'()=<>!]|!(?!=))(?:[^\s"()=<>!]|!(?!=))*/
VALUE: /[^\s"'()=<>!,][^\s"()]*/
ITEM: /[^\s"'()=<>!,][^\s"(),]*/

%ignore /\s+/
"""


@cache
def parser(transformer: Any) -> Lark:
    """The parser, made at the first filter: importing and building it takes a tenth of a second."""
    from lark import Lark  # as said

    return Lark(GRAMMAR, parser="lalr", transformer=transformer, propagate_positions=False)
