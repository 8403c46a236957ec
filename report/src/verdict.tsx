// The verdict: what is wrong, which ranks, which call, where, why, and what to do.
import { useRef, useState } from 'preact/hooks'
import type { Finding, Frame, Report, Site, SourceLine } from './data'
import { Markdown } from './markdown'
import { count, cut, duration } from './text'
import { Capped, RanksText, Text } from './widgets'

const STATUS: Record<string, string> = {
  hung: 'hung',
  failed: 'failed',
  stopped: 'stopped from outside',
  finished: 'finished',
  running: 'running',
  'no-ranks': 'no ranks',
}

const NOTHING_FOUND: Record<string, string> = {
  hung: 'The job hangs, and no cause was found.',
  failed: 'The job failed, and no cause was found.',
  stopped: 'Nothing was found. The job was stopped from outside.',
  finished: 'Nothing was found. The job finished.',
  running: 'Nothing was found. The job was running.',
  'no-ranks': 'There are no traces of ranks, so nothing can be said about the job.',
}

const WEIGHT: Record<string, string> = {
  warning: 'warning',
  note: 'note',
  known: 'known: in the baseline',
}

function scope(report: Report): string[] {
  const { ranks, ranks_expected: expected, hosts } = report
  const traced = expected > ranks ? `traces of ${ranks.toLocaleString('en-US')} of ` : ''
  const all = count(Math.max(ranks, expected), 'rank')
  const parts = [traced + all + (hosts ? ` on ${count(hosts, 'host')}` : '')]
  if (report.no_progress_ns !== null) {
    parts.push(`no progress for ${duration(report.no_progress_ns)}`)
  }
  return parts
}

function Source({ lines }: { lines: SourceLine[] }) {
  return (
    <pre class="source">
      {lines.map((line) => (
        <span class={line.marked ? 'line marked' : 'line'}>
          <span class="number">{line.marked ? '▸ ' : '  '}{line.number}</span>
          <bdi dir="ltr">{cut(line.text, 400)}</bdi>
          {line.marked && <span class="visually-hidden"> (this line)</span>}
        </span>
      ))}
    </pre>
  )
}

function Stack({ frames }: { frames: Frame[] }) {
  return (
    <details class="stack">
      <summary>Stack, {count(frames.length, 'frame')}</summary>
      <Capped items={frames} limit={60} noun="frame" render={(shown) => (
        <ol>
          {shown.map((frame) => (
            <li class={frame.user ? 'user' : ''}>
              <span class="function">
                <Text text={frame.function || '(unknown)'} limit={160} />
              </span>{' '}
              <span class="place"><Text text={frame.place} limit={160} /></span>
            </li>
          ))}
        </ol>
      )} />
    </details>
  )
}

function SiteCard({ site }: { site: Site }) {
  return (
    <article class={`site ${site.role}`}>
      <p class="site-head">
        <span class="role">{site.role}</span>
        <strong class="ranks"><RanksText ranks={site.ranks} /></strong>
        {site.state !== site.role && <span class="state">{site.state.replace('-', ' ')}</span>}
      </p>
      {site.call && <p class="call"><Text text={site.call} /></p>}
      {(site.place || site.function) && (
        <p class="where">
          <span class="place"><Text text={site.place} /></span>
          {site.function && <> in <span class="function"><Text text={site.function} /></span></>}
        </p>
      )}
      {site.source.length > 0 && <Source lines={site.source} />}
      {site.stack.length > 0 && <Stack frames={site.stack} />}
    </article>
  )
}

function Explanation({ finding }: { finding: Finding }) {
  const differs = finding.kind_certainty !== finding.certainty
  return (
    <dl class="explanation">
      {finding.why && <><dt>why</dt><dd><Text text={finding.why} limit={1200} /></dd></>}
      {finding.fix && <><dt>fix</dt><dd><Text text={finding.fix} limit={1200} /></dd></>}
      <dt>kind</dt>
      <dd>
        <code><Text text={finding.kind} /></code>
        {differs && ` (${finding.kind_certainty})`}
      </dd>
      {finding.values.map((value) => <><dt>value</dt><dd><Text text={value} limit={600} /></dd></>)}
      {finding.notes.map((note) => <><dt>note</dt><dd><Text text={note} limit={1200} /></dd></>)}
    </dl>
  )
}

/** Culprits first: they are what the reader looks for. */
function inOrder(sites: Site[]): Site[] {
  return [...sites].sort((a, b) => Number(b.role === 'culprit') - Number(a.role === 'culprit'))
}

function FindingBody({ finding }: { finding: Finding }) {
  return (
    <>
      <Explanation finding={finding} />
      <Capped items={inOrder(finding.sites)} limit={6} noun="call site" render={(shown) => (
        <div class="sites">{shown.map((site) => <SiteCard site={site} />)}</div>
      )} />
      {finding.page && (
        <details class="kind-page">
          <summary>What <code>{cut(finding.kind, 60)}</code> means</summary>
          <Markdown text={finding.page} />
        </details>
      )}
    </>
  )
}

function FurtherFinding({ finding }: { finding: Finding }) {
  return (
    <details class={`further ${finding.weight}`}>
      <summary>
        <Text text={cut(finding.title, 400)} limit={400} />{' '}
        <span class="tag">{finding.certainty}</span>
        {WEIGHT[finding.weight] && <span class="tag">{WEIGHT[finding.weight]}</span>}
      </summary>
      <FindingBody finding={finding} />
    </details>
  )
}

/** Needs no permission: the text is selected, and the browser's own copy command takes it. */
function copyText(element: HTMLElement): boolean {
  const range = document.createRange()
  range.selectNodeContents(element)
  const selection = getSelection()!
  selection.removeAllRanges()
  selection.addRange(range)
  return document.execCommand('copy')
}

function PrintedText({ text }: { text: string }) {
  const pre = useRef<HTMLPreElement>(null)
  const [result, setResult] = useState('')
  const copy = () =>
    setResult(copyText(pre.current!) ? 'copied' : 'selected; copy it with the keyboard')
  return (
    <details class="printed">
      <summary>The text that the command line prints</summary>
      <p>
        <button type="button" onClick={copy}>Copy the text</button>{' '}
        <span role="status">{result}</span>
      </p>
      <pre class="code" tabIndex={0} ref={pre}>{text}</pre>
    </details>
  )
}

function Headline({ report }: { report: Report }) {
  const [finding] = report.findings
  return (
    <p class="headline">
      <span class={`status ${report.status}`}>{STATUS[report.status] ?? report.status}</span>
      {finding && <span class={`certainty ${finding.certainty}`}>{finding.certainty}</span>}
      {finding && WEIGHT[finding.weight] && <span class="tag">{WEIGHT[finding.weight]}</span>}
      {scope(report).map((part) => <span class="scope">{part}</span>)}
    </p>
  )
}

export function VerdictPanel({ report, text }: { report: Report; text: string }) {
  const [finding, ...others] = report.findings
  return (
    <section id="verdict" class="panel verdict" aria-labelledby="verdict-title">
      <Headline report={report} />
      <h1 id="verdict-title">
        {finding ? <Text text={finding.title} limit={500} /> : NOTHING_FOUND[report.status]}
      </h1>
      {finding && <FindingBody finding={finding} />}
      {others.length > 0 && (
        <div class="others">
          <h2>{count(others.length, 'further finding')}</h2>
          <Capped items={others} limit={20} noun="further finding" render={(shown) =>
            shown.map((other) => <FurtherFinding finding={other} />)} />
        </div>
      )}
      {report.notes.length > 0 && (
        <ul class="notes">
          {report.notes.map((note) => <li><Text text={note} limit={600} /></li>)}
        </ul>
      )}
      {text && <PrintedText text={text} />}
    </section>
  )
}
