"""How a report looks: light and dark by the reader's own choice, and on paper."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ground: #ffffff; --raised: #f6f7f9; --text: #1b1f24;
  --muted: #5c6670; --line: #d9dde2; --accent: #1f62c4; --good: #1a7440; --warning: #8f5a00;
  --bad: #b8232a; }
@media (prefers-color-scheme: dark) { :root { --ground: #16191d; --raised: #1f2328;
  --text: #e6e9ec; --muted: #9aa4ae; --line: #343a41; --accent: #79aef5; --good: #5cc48d;
  --warning: #e3ad48; --bad: #f37f7f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; background: var(--ground);
  color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: 1rem;
  border-top: 2px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; overflow-wrap: anywhere; }
a { color: var(--accent); }
.muted { color: var(--muted); }
.note { color: var(--muted); font-size: .87rem; }
.state { font-weight: 600; }
.accent { --tone: var(--accent); } .good { --tone: var(--good); }
.warning { --tone: var(--warning); } .bad { --tone: var(--bad); } .quiet { --tone: var(--muted); }
.state { color: var(--tone); }
.story { border-left: 4px solid var(--tone); background: var(--raised); padding: .6rem 1rem;
  border-radius: 0 6px 6px 0; margin: 1rem 0; }
.story h3 { margin-top: 0; } .told { margin: .4rem 0; overflow-wrap: anywhere; }
.told ul { margin: .3rem 0; padding-left: 1.4rem; }
q { font-style: italic; quotes: "“" "”"; }
.bar { background: var(--line); border-radius: 5px; height: 10px; min-width: 6rem;
  overflow: hidden; margin: .35rem 0; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.bar i { display: block; height: 100%; background: var(--tone); }
.bar i.busy { opacity: .6; background: repeating-linear-gradient(45deg, var(--tone) 0 8px,
  transparent 8px 16px); }
.head .bar { height: 18px; border-radius: 8px; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: .75rem 0; }
dt { color: var(--muted); font-size: .8rem; }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--muted); font-weight: 500; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: break-word; }
td:first-child, td:last-child { overflow-wrap: anywhere; min-width: 8rem; }
td.number { min-width: 0; }
.number { text-align: right; white-space: nowrap; }
tr.gap td { color: var(--muted); text-align: center; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
  padding: .5rem .75rem; margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .82rem/1.45 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
.message { break-inside: avoid; } .message p { margin: .6rem 0 0; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--muted); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); } svg .total { stroke: var(--muted); stroke-dasharray: 5 4; }
svg .course { fill: none; stroke: var(--tone); stroke-width: 2; stroke-linejoin: round; }
svg .under { fill: var(--tone); opacity: .13; } svg .span { stroke: var(--tone); opacity: .5; }
svg .end { fill: var(--tone); }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; }
  h2 { break-before: page; } h3 { break-after: avoid; } tr, .story { break-inside: avoid; }
  a { color: inherit; text-decoration: none; } }
"""
"""Fills are also told in words, so that nothing depends on colours or on their being printed."""
