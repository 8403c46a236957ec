// The last seconds: what each class of ranks called when, who came late, and how much.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { callText, placeText } from './cell_text'
import type { Call, Communicator, Report, Straggler, TimelineClass } from './data'
import { CallLegend } from './legend'
import type { Look } from './palette'
import { reveal, Scroller, ZoomButtons, type Brush, type Point } from './scroller'
import { SkewChart } from './skew'
import { cut, duration, moment, rankText } from './text'
import { paintTimeline, spanEnd, xOf, type Chosen, type Scale } from './timeline_paint'
import { Capped, Empty, LeftOut, Panel, Text, Tip, type TipContent } from './widgets'

const MAX_HEIGHT = 340
const WIDEST = 8_000_000 // browsers limit the size of an element
const FIXED = { gutter: innerWidth < 700 ? 120 : 190, head: 28, lane: 25 }

interface ViewProps {
  report: Report
  palette: Look[]
}

function spanLines(lane: TimelineClass, index: number, calls: Call[], total: number): string[] {
  const span = lane.spans[index]
  if (!span) return [`${rankText(lane.ranks)}: no calls in this time`]
  const [start, length, number] = span
  const call = calls[number]
  const shown = lane.ranks.count > 1 ? ` (the calls of rank ${lane.shown})` : ''
  const rest = length === null
    ? `inside the call since ${moment(start, total)}`
    : `from ${moment(start, total)}, for ${duration(length)}`
  const place = placeText(call)
  const head = `${rankText(lane.ranks)}${lane.culprit ? ', culprit' : ''}${shown}`
  return [head, cut(callText(call), 200), rest, ...(place ? [cut(place, 200)] : [])]
}

/** The span at a point; of several that overlap, the one that began last. */
function spanAt(point: Point, element: HTMLElement, lanes: TimelineClass[], scale: Scale) {
  const lane = Math.floor((point.y - scale.head + element.scrollTop) / scale.lane)
  const x = point.x + element.scrollLeft
  if (point.x < scale.gutter || point.y < scale.head || !lanes[lane]) return null
  const span = lanes[lane].spans.findLastIndex((item) =>
    xOf(item[0], scale) <= x + 1 && x - 1 <= Math.max(xOf(spanEnd(item, scale), scale)))
  return span < 0 ? null : { lane, span }
}

function moved({ lane, span }: Chosen, lanes: TimelineClass[], key: string): Chosen | null {
  const last = lanes[lane].spans.length - 1
  const nearest = (to: number) => {
    if (!lanes[to]) return null
    const time = lanes[lane].spans[span]?.[0] ?? 0
    const at = lanes[to].spans.findLastIndex(([start]) => start <= time)
    return { lane: to, span: Math.max(0, at) }
  }
  switch (key) {
    case 'ArrowLeft': return { lane, span: Math.max(0, span - 1) }
    case 'ArrowRight': return { lane, span: Math.min(last, span + 1) }
    case 'Home': return { lane, span: 0 }
    case 'End': return { lane, span: last }
    case 'ArrowUp': return nearest(lane - 1)
    case 'ArrowDown': return nearest(lane + 1)
    default: return null
  }
}

/** The width that is left for the lanes; it changes with the window. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(900)
  useLayoutEffect(() => {
    const measure = () => setWidth(element.current!.clientWidth || 900)
    const observer = new ResizeObserver(measure)
    observer.observe(element.current!)
    measure()
    return () => observer.disconnect()
  }, [])
  return width
}

function useTimeline(lanes: TimelineClass[], total: number) {
  const scroller = useRef<HTMLDivElement>(null)
  const width = useWidth(scroller)
  const [zoom, setZoom] = useState(1)
  const [chosen, setChosen] = useState<Chosen>(() =>
    ({ lane: 0, span: Math.max(0, lanes[0].spans.length - 1) }))
  const room = Math.max(100, width - FIXED.gutter - 8)
  const scale: Scale = { ...FIXED, span: total, pixels: Math.min(WIDEST, room * zoom) }
  const keep = useRef<{ time: number; x: number } | null>(null)
  useLayoutEffect(() => {
    if (keep.current) scroller.current!.scrollLeft = xOf(keep.current.time, scale) - keep.current.x
    keep.current = null
  }, [zoom])

  const choose = (next: Chosen) => {
    setChosen(next)
    const span = lanes[next.lane].spans[next.span]
    if (!span) return
    const [x, y] = [xOf(span[0], scale), scale.head + next.lane * scale.lane]
    reveal(scroller.current!, { x: x - 8, y, width: 60, height: scale.lane },
      { left: scale.gutter, top: scale.head })
  }
  const zoomBy = (direction: number, point?: Point) => {
    const element = scroller.current!
    const x = point ? point.x : (element.clientWidth + scale.gutter) / 2
    const time = ((x - scale.gutter + element.scrollLeft) / scale.pixels) * total
    keep.current = { time, x }
    setZoom(Math.max(1, Math.min(WIDEST / room, zoom * (direction > 0 ? 1.5 : 1 / 1.5))))
  }
  return { scroller, scale, chosen, choose, zoomBy }
}

type Timeline = ReturnType<typeof useTimeline>

function onKey(event: KeyboardEvent, lanes: TimelineClass[], timeline: Timeline) {
  const next = moved(timeline.chosen, lanes, event.key)
  const direction = event.key === '+' || event.key === '=' ? 1 : event.key === '-' ? -1 : 0
  if (next) timeline.choose(next)
  else if (direction && !event.ctrlKey && !event.metaKey) timeline.zoomBy(direction)
  else return
  event.preventDefault()
}

/** The last call of each lane, which is what one sees first, then the others by their number. */
function usedCalls(lanes: TimelineClass[]): number[] {
  const last = lanes.flatMap(({ spans }) => spans.slice(-1).map(([, , call]) => call))
  const counts = new Map<number, number>()
  for (const { spans } of lanes) {
    for (const [, , call] of spans) counts.set(call, (counts.get(call) ?? 0) + 1)
  }
  const others = [...counts.keys()].sort((a, b) => counts.get(b)! - counts.get(a)!)
  return [...new Set([...last, ...others])]
}

function TimelineView({ report, palette }: ViewProps) {
  const { classes, span: total } = report.timeline
  const lanes = useMemo(
    () => [...classes].sort((a, b) => Number(b.culprit) - Number(a.culprit)),
    [classes],
  )
  const timeline = useTimeline(lanes, total)
  const { scroller, scale, chosen } = timeline
  const [tip, setTip] = useState<TipContent | null>(null)
  const used = useMemo(() => usedCalls(lanes), [lanes])
  const lines = (at: Chosen) => spanLines(lanes[at.lane], at.span, report.calls, total)
  const point = (at: Point | null) => {
    const found = at && spanAt(at, scroller.current!, lanes, scale)
    setTip(found ? { x: at.clientX, y: at.clientY, lines: lines(found) } : null)
  }
  const pick = (at: Point) => {
    const found = spanAt(at, scroller.current!, lanes, scale)
    if (found) timeline.choose(found)
  }
  const [head, ...rest] = lines(chosen)
  return (
    <>
      <ZoomButtons names={['Longer time', 'Shorter time']} zoom={timeline.zoomBy} />
      <Scroller
        label="Timeline, a lane for each class of ranks"
        describedBy="timeline-keys"
        width={scale.gutter + scale.pixels + 8}
        height={scale.head + lanes.length * scale.lane + 2}
        maxHeight={MAX_HEIGHT}
        scroller={scroller}
        paint={(brush: Brush) => paintTimeline(brush, { lanes, palette, scale, chosen })}
        onKeyDown={(event) => onKey(event, lanes, timeline)}
        onPoint={point}
        onPick={pick}
        onZoom={timeline.zoomBy}
      />
      <p class="cursor" id="timeline-cursor" aria-live="polite">
        <strong><bdi dir="ltr">{head}</bdi></strong>
        {rest.map((line) => <> · <bdi dir="ltr">{line}</bdi></>)}
      </p>
      <ul class="legend states">
        <li><span class="swatch inside" aria-hidden="true">▸</span> inside the call at the end</li>
      </ul>
      <CallLegend calls={report.calls} palette={palette} used={used} />
      <p class="keys" id="timeline-keys">
        Keys: left and right choose a call, up and down a lane; + and − zoom. Ctrl and the mouse
        wheel zoom, dragging scrolls.
      </p>
      <Tip tip={tip} />
    </>
  )
}

function StragglerRow({ straggler }: { straggler: Straggler }) {
  const { rank, host, last, of, mean_late: mean, most_late: most } = straggler
  return (
    <tr>
      <th scope="row">rank {rank}</th>
      <td><Text text={host} limit={120} /></td>
      <td class="figure">{last.toLocaleString('en-US')} of {of.toLocaleString('en-US')}</td>
      <td class="figure">{duration(mean)}</td>
      <td class="figure">{duration(most)}</td>
    </tr>
  )
}

function Stragglers({ stragglers }: { stragglers: Straggler[] }) {
  if (stragglers.length === 0) {
    return <Empty>Too few collectives are recorded with the arrivals of all members.</Empty>
  }
  return (
    <Capped items={stragglers} limit={8} noun="rank" render={(shown) => (
      <div class="wide">
        <table class="stragglers">
          <thead>
            <tr>
              <th scope="col">Rank</th>
              <th scope="col">Host</th>
              <th scope="col">Arrived last</th>
              <th scope="col">Mean behind the first</th>
              <th scope="col">Most</th>
            </tr>
          </thead>
          <tbody>{shown.map((straggler) => <StragglerRow straggler={straggler} />)}</tbody>
        </table>
      </div>
    )} />
  )
}

interface PanelProps extends ViewProps {
  communicator: Communicator | null
}

export function TimelinePanel({ report, palette, communicator }: PanelProps) {
  const { classes, span, left_out: leftOut } = report.timeline
  return (
    <Panel
      id="timeline"
      title="Timeline"
      aside={classes.length > 0 ? `the last ${duration(span)}` : undefined}
    >
      {classes.length > 0
        ? <TimelineView report={report} palette={palette} />
        : <Empty>No calls with times are recorded.</Empty>}
      <LeftOut text={leftOut} />
      <div class="late">
        <div>
          <h3>Ranks that arrive last</h3>
          <Stragglers stragglers={report.stragglers} />
        </div>
        <div>
          <h3>Time between first and last arrival</h3>
          {communicator && communicator.arrivals.length > 0
            ? <SkewChart communicator={communicator} key={report.communicators.indexOf(communicator)} />
            : <Empty>No arrivals are recorded for this communicator.</Empty>}
        </div>
      </div>
    </Panel>
  )
}
