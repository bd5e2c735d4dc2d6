"""The style sheet of the report as a page, and the policy that lets it load nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --quiet: #595959; --line: #dfe2e6; --band: #f6f7f8;
  --accent: #b5006e; --loud: #b00020; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #ececec; --quiet: #a9b0b8; --line: #333a42; --band: #1b1f24;
    --accent: #ff7ac2; --loud: #ff8a9a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 12px clamp(10px, 3vw, 32px) 40px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: clamp(18px, 3.4vw, 25px); line-height: 1.3; margin: 4px 0 8px; }
h2 { font-size: 18px; margin: 30px 0 8px; }
h3 { font-size: 15px; margin: 0 0 4px; }
p { margin: 4px 0; max-width: 80em; }
ul { margin: 4px 0; padding-left: 1.3em; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { margin: 6px 0; padding: 8px 10px; background: var(--band); border: 1px solid var(--line); border-radius: 4px;
  overflow-x: auto; white-space: pre; overflow-wrap: normal; }
pre.command { white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
.quiet { color: var(--quiet); font-size: 14px; }
.empty { padding: 10px 12px; background: var(--band); color: var(--quiet); }
.loud { color: var(--loud); font-weight: 700; }
.warnings { border-left: 4px solid var(--loud); padding: 2px 0 2px 12px; margin: 8px 0; }
.outcome { font-weight: 600; }
.defs { position: absolute; }
.wide { overflow-x: auto; margin: 8px 0; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 4px 16px 4px 0; text-align: left; vertical-align: top; overflow-wrap: break-word; }
td { border-top: 1px solid var(--line); max-width: 44em; }
td:first-child { min-width: 8em; }
.card td:last-child { min-width: 18em; }
td:has(> .swatch), td:empty { min-width: 0; }
td:first-child:has(> p) { min-width: 5em; }
td > p:first-child { margin-top: 0; }
th { font-weight: 600; color: var(--quiet); white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
svg text { font: 600 13px system-ui, sans-serif; }
.step-bar { display: grid; grid-template-columns: 4.5em 1fr 5.5em; align-items: center; gap: 8px; margin: 5px 0; }
.step-bar .time { text-align: right; font-weight: 600; white-space: nowrap; }
.bar { width: 100%; display: block; overflow: visible; }
.row-bar { width: 170px; display: block; }
.swatch { vertical-align: -5px; }
.letter { stroke-width: 3.5px; paint-order: stroke; }
.strip { width: clamp(160px, 32vw, 420px); display: block; overflow: visible; }
.finding { border-left: 4px solid var(--accent); padding: 2px 0 2px 14px; margin: 14px 0; }
.finding .cost { font-weight: 700; }
.card { margin: 12px 0; border-radius: 4px; }
details { margin: 8px 0; border-top: 1px solid var(--line); padding-top: 6px; }
details.inner { border-top: 0; padding-top: 0; }
details.card { border: 1px solid var(--line); padding: 8px 12px; }
.card td code { display: inline-block; max-width: 40em; overflow-x: auto; white-space: nowrap; vertical-align: bottom; }
summary { cursor: pointer; font-weight: 600; }
details:not(.inner) > summary { font-size: 16px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
dl { display: grid; grid-template-columns: minmax(7em, max-content) 1fr; gap: 2px 16px; margin: 6px 0;
  font-size: 14px; }
dt { color: var(--quiet); }
dd { margin: 0; }
.timeline { margin: 10px 0 18px; border: 0; padding: 0; min-width: 0; }
.timeline legend { font-weight: 600; padding: 0; }
.zoom { margin-right: 12px; font-size: 14px; white-space: nowrap; }
.stage { display: grid; grid-template-columns: minmax(5.5em, 12%) minmax(0, 1fr); border: 1px solid var(--line);
  margin-top: 4px; }
.lane-names { font-size: 11px; line-height: 12px; color: var(--quiet); padding: 18px 4px 4px 6px;
  border-right: 1px solid var(--line); white-space: nowrap; overflow: hidden; }
.lane-names div { height: 14px; overflow: hidden; text-overflow: ellipsis; }
.scroll { overflow-x: auto; padding: 0 0 4px; }
.lanes { width: 100%; display: block; }
.lanes text { font: 10px system-ui, sans-serif; }
.lanes .word { stroke-width: 2.5px; paint-order: stroke; }
.lanes .axis { fill: var(--quiet); }
.lanes .tick { stroke: var(--line); }
.timeline:has(.by-4:checked) .lanes { width: 400%; }
.timeline:has(.by-16:checked) .lanes { width: 1600%; }
.word-4, .word-16 { display: none; }
.timeline:has(.by-4:checked) .word-4, .timeline:has(.by-16:checked) .word-4,
.timeline:has(.by-16:checked) .word-16 { display: inline; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; margin: 8px 0; list-style: none; font-size: 13px; }
.dot { fill: var(--ink); fill-opacity: .35; }
.median { stroke: var(--accent); stroke-width: 2; }
.strip line.base { stroke: var(--line); }
footer { margin-top: 36px; color: var(--quiet); font-size: 13px; border-top: 1px solid var(--line); padding-top: 8px; }
@media (max-width: 600px) {
  .step-bar { grid-template-columns: 3.4em 1fr 4.6em; gap: 5px; font-size: 14px; }
  th, td { padding-right: 10px; font-size: 13px; }
  .wide:has(.strip) :is(th, td, p) { padding-right: 5px; font-size: 12px; }
  .wide:has(.strip) th { white-space: normal; font-size: 11px; }
  .wide:has(.strip) td:first-child { min-width: 5.5em; }
  .strip { width: 76px; }
  .sentences table, .sentences tbody { display: block; }
  .sentences thead { position: absolute; clip-path: inset(50%); }
  .sentences tr { display: flex; flex-wrap: wrap; gap: 0 12px; padding: 5px 0; border-top: 1px solid var(--line); }
  .sentences td { flex: 1 1 100%; min-width: 0; max-width: none; padding: 0; border: 0; }
  .sentences td:first-child:has(+ td > code), .sentences td:first-child + td:has(> code) { flex: 0 1 auto; }
  .sentences td:empty { display: none; }
}
.on-paper { display: none; }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #333; --line: #bbb; --band: #fff;
    --accent: #b5006e; --loud: #b00020; }
  body { max-width: none; font-size: 11pt; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; display: block; }
  @supports not selector(::details-content) { .on-paper { display: block; } }
  h1, h2, h3, summary, legend { break-after: avoid; }
  #findings .finding, .card, .step-bar, .timeline, tr, li { break-inside: avoid; }
  .wide, .scroll, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table { font-size: 9pt; }
  th, td, .card td code { padding-right: 8px; white-space: normal; overflow-wrap: anywhere; }
  .card td code { display: inline; }
  td.number { white-space: nowrap; }
  td:not(.number, :empty, :has(> .swatch)) { min-width: 5em; }
  .card table { font-size: 8pt; }
  .card td:not(.number) { min-width: 6em; }
  .lanes { width: 100% !important; }
  .word-4, .word-16 { display: none !important; }
  .zoom { display: none; }
}
"""


def policy() -> str:
    """What the page may load: nothing, and no style but the one above, whatever a name puts into it."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
