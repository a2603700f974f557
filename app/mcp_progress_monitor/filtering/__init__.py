r"""The filter language of the log, exports and the command line.

A filter says which messages are shown::

    method == notifications/progress and token == "abc" and dt > 2
    kind in (error, unreadable) or text matches "time(d )?out"
    not (server == demo) "connection reset"

**Text.** A word, or a text in quotes, is searched in the message as it came, in any case. A letter
is found as UTF-8 and as the escape that JSON has for it: `über` finds `\u00dcber`. Quotes can be
double or single; within them `\"`, `\\`, `\/`, `\n`, `\r`, `\t` and `\u00e9` are escapes, other
backslashes stand for themselves.

**Together.** `not` comes before `and`, `and` before `or`; parentheses group. Two conditions side by
side are joined by `and`.

**Comparisons** are `field operator value`; spaces are needed only between words. The value needs
quotes if it has spaces, quotes or parentheses in it. A message that has no such field is never
shown by a comparison, not by `!=` either: `code != 5` shows errors with other codes. `not` turns
that round: `not code == 5` shows all other messages.

- `==` `!=`: equal, and of one type. For `id`, `token`, `progress`, `total`, `code` and paths, a
  number is a number, `true`, `false`, `null` are themselves, and all else is a text, as is
  everything in quotes: `token == 7` is not `token == "7"`. `7` and `7.0` are equal. For fields that
  are texts, all values are. `in (a, b)`: equal to one of the list.
- `<` `<=` `>` `>=`: numbers with numbers, texts with texts in the order of their characters,
  `level` by severity, with one of the protocol's levels. A message whose value is of the other
  type is not shown.
- `contains`: has the text in it, in any case; `matches`: has a match of the regular expression, in
  this case (`(?i)` for any). Both look at texts; of a number, list or object they look at its
  JSON, without spaces and with letters as such: `params contains "order"`.

**Paths** begin with `params`, `result` or `error` and go on with `.name`, `["odd name"]` or `[0]`:
`params.arguments.n`, `result.content[0].text`. Only requests and notifications have `params`, only
replies `result`, only error replies `error`.

**Units.** `dt` and `duration` are seconds, or with `us ms s min h d`, compared to the microsecond;
`size` is bytes, or with `B kB MB GB KiB MiB GiB`. `time` takes a local time of day (`12:01`,
`12:01:07.5`) or a date (`2026-11-20`, `"2026-11-20 12:01"`, UTC with a `Z` at its end); a time is
as long as it is vague: `time == 12:01` is that minute, `time > 12:01` begins with the next, and
times of day recur daily.

**What fields mean.** A reply, a cancel and a tick have the token of their request. `dt` is the time
since the message before with the same token, or without a token since any message before; the same
text on another connection, or of a request of the other side, is another token. `job` and `request`
are those that a message belongs to: the request, its ticks, its cancel, its reply; `job != 3` shows
messages of requests that are none of job 3's. `size` is that on disk. `task` is the task's id
wherever the protocol puts it. The fields are listed in `filtering.fields`.

**Bounds.** A regular expression that runs for longer than a hundredth of a second on a message does
not match it; such messages are counted. In texts of more than 128,000 characters, matches of up to
16,000 are found for sure. Values of more than a megabyte, within messages of more than that, are
not decoded: of the operators, `contains` looks at their JSON as it came, and the others fail.

A filter is looked at in the order of cost: first what the index in memory tells, then words in the
bytes, then decoded values, then patterns; what one condition leaves out, the next does not see.
"""
