// The page: its head, its navigation and its panels.
import type { ComponentChild } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Report } from './data'
import { DifferencePanel } from './difference'
import { GraphPanel } from './graph'
import { LookedAtPanel } from './looked_at'
import { MatrixPanel } from './matrix'
import { makePalette } from './palette'
import { StacksPanel } from './stacks'
import { TimelinePanel } from './timeline'
import { VerdictPanel } from './verdict'
import { Guard } from './widgets'

const PANELS: [id: string, name: string][] = [
  ['verdict', 'Verdict'],
  ['matrix', 'Collectives'],
  ['waits', 'Waits'],
  ['stacks', 'Stacks'],
  ['timeline', 'Timeline'],
  ['difference', 'Difference'],
  ['looked-at', 'Input'],
]

function Top({ report }: { report: Report }) {
  return (
    <header class="top">
      <a class="skip" href="#verdict">Skip to the verdict</a>
      <p class="brand">rollcall <span class="version">{report.rollcall}</span></p>
      <nav aria-label="Panels">
        {PANELS.map(([id, name]) => <a href={`#${id}`}>{name}</a>)}
      </nav>
      {report.taken_at && (
        <p class="taken"><time dateTime={report.taken_at}>{report.taken_at}</time></p>
      )}
    </header>
  )
}

export function App({ report, text }: { report: Report; text: string }) {
  const palette = useMemo(() => makePalette(report.calls), [report])
  const [selected, setSelected] = useState(0)
  const communicator = report.communicators[selected] ?? null
  const panels: ComponentChild[] = [
    <VerdictPanel report={report} text={text} />,
    <MatrixPanel report={report} palette={palette} selected={selected} onSelect={setSelected} />,
    <GraphPanel graph={report.graph} />,
    <StacksPanel stacks={report.stacks} />,
    <TimelinePanel report={report} palette={palette} communicator={communicator} />,
    <DifferencePanel difference={report.difference} />,
    <LookedAtPanel report={report} />,
  ]
  return (
    <>
      <Top report={report} />
      <main>
        {PANELS.map(([id, title], index) => <Guard id={id} title={title}>{panels[index]}</Guard>)}
      </main>
    </>
  )
}
