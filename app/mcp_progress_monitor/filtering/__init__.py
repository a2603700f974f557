r"""The filter language of the log, exports and the command line.

A filter selects the messages to show::

    method == notifications/progress and token == "abc" and dt > 2
    kind in (error, unreadable) or text matches "time(d )?out"
    not (server == demo) "connection reset"

**Text.** A word or quoted text is searched in the raw message, ignoring case. A letter is found as
UTF-8 and as a JSON escape: `über` finds `\u00dcber`. Quotes may be double or single; within them
`\"`, `\\`, `\/`, `\n`, `\r`, `\t` and `\u00e9` are escapes, and other backslashes are literal.

**Precedence.** `not` binds tighter than `and`, `and` tighter than `or`; parentheses group. Two
adjacent conditions are joined by `and`.

**Comparisons** are `field operator value`; spaces are needed only between words. A value that
contains spaces, quotes or parentheses needs quotes. A comparison never matches a message without
the field, not even with `!=`: `code != 5` matches errors with other codes, `not code == 5` all
other messages.

- `==` `!=`: equal, and of the same type. For `id`, `token`, `progress`, `total`, `code` and paths,
  an unquoted number is a number, unquoted `true`, `false` and `null` are constants, and everything
  else is text: `token == 7` differs from `token == "7"`. `7` and `7.0` are equal. For text fields
  every value is text. `in (a, b)`: equal to one of the list.
- `<` `<=` `>` `>=`: numbers with numbers, text with text by code point, `level` by severity, with
  one of the protocol's levels. Values of another type do not match.
- `contains`: contains the text, ignoring case. `matches`: has a match of the regular expression,
  case-sensitive unless it starts with `(?i)`. Both search text; of a number, list or object they
  search its compact JSON without escapes: `params contains "order"`.

**Paths** start with `params`, `result` or `error` and continue with `.name`, `["odd name"]` or
`[0]`: `params.arguments.n`, `result.content[0].text`. Only requests and notifications have
`params`, only replies `result`, only error replies `error`.

**Units.** `dt` and `duration` are in seconds or have a unit (`us ms s min h d`), compared to
the microsecond; `size` is in bytes or has a unit (`B kB MB GB KiB MiB GiB`). `time` takes a local
time of day (`12:01`, `12:01:07.5`) or a date (`2026-11-20`, `"2026-11-20 12:01"`, UTC if it ends in
`Z`). The precision of a time is its length: `time == 12:01` is that minute, `time > 12:01` starts
with the next one. Times of day recur daily.

**Fields.** A reply, a cancel and a tick have the token of their request. `dt` is the time since the
previous message with the same token or, without a token, since any message; a token belongs to one
side of one connection. `job` and `request` apply to the request, its ticks, its cancel and its
reply; `job != 3` matches messages of requests that do not belong to job 3. `size` is the size on
disk. `task` is the id of the task, wherever the protocol puts it. `filtering.fields` lists all.

**Limits.** A regular expression that takes longer than 10 ms on a message does not match; such
messages are counted. In text of more than 128,000 characters, matches of up to 16,000 characters
are always found. Values of more than a megabyte are not decoded: `contains` searches their JSON,
and other operators do not match.

Conditions are tested from cheap to expensive: the index in memory, text in the raw bytes, decoded
values, patterns. Each tests only what the previous ones left.
"""
