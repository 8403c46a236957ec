// What each member of a communicator did with each sequence number.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { cellLines, callText, placeText, STATE_WORDS, whoText } from './cell_text'
import { State, type Call, type Communicator, type MemberClass, type Report } from './data'
import { CallLegend, StateLegend } from './legend'
import { paintMatrix, type Cursor, type Geometry } from './matrix_paint'
import { rowsByClass, rowsByRank, runAt, type Rows } from './members'
import type { Look } from './palette'
import { reveal, Scroller, ZoomButtons, type Brush, type Point } from './scroller'
import { count, cut } from './text'
import { Capped, Choice, Empty, Panel, RanksText, Text, Tip, type TipContent } from './widgets'

const SIZES = [2, 3, 4, 6, 8, 11, 14, 18, 22, 28, 36]
const USUAL_SIZE = 8
const MAX_HEIGHT = 460
const MOST_ROWS_BY_RANK = 64
const MODES = ['by class', 'by rank']

interface ViewProps {
  communicator: Communicator
  calls: Call[]
  palette: Look[]
  byClass: boolean
}

function geometryOf(byClass: boolean, size: number): Geometry {
  return {
    gutter: byClass ? (innerWidth < 700 ? 140 : 230) : 96,
    head: 26,
    cellWidth: SIZES[size],
    cellHeight: byClass ? 24 : Math.min(22, SIZES[size]),
  }
}

/** Small enough that all rows are visible, if that leaves cells that can be seen. */
function initialSize({ byClass }: ViewProps, rows: Rows): number {
  if (byClass) return USUAL_SIZE
  const fitting = SIZES.findLastIndex((size) => size * rows.count <= MAX_HEIGHT)
  return Math.min(USUAL_SIZE, Math.max(fitting, 5))
}

function cellBox({ gutter, head, cellWidth, cellHeight }: Geometry, { row, column }: Cursor) {
  const [x, y] = [gutter + column * cellWidth, head + row * cellHeight]
  // The neighbours stay visible, too.
  const margin = Math.max(32, 2 * cellWidth)
  return { x: x - margin, y: y - 2, width: cellWidth + 2 * margin, height: cellHeight + 4 }
}

/** The cell at a point of the view; null: there is none. */
function cellAt(point: Point, element: HTMLElement, geometry: Geometry): Cursor | null {
  if (point.x < geometry.gutter || point.y < geometry.head) return null
  return {
    row: Math.floor((point.y - geometry.head + element.scrollTop) / geometry.cellHeight),
    column: Math.floor((point.x - geometry.gutter + element.scrollLeft) / geometry.cellWidth),
  }
}

/** Where a key moves the cursor; null: it is no key of the matrix. */
function moved({ row, column }: Cursor, event: KeyboardEvent, rows: number, columns: number) {
  const all = event.ctrlKey || event.metaKey
  const moves: Record<string, Cursor> = {
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    PageUp: { row: row - 16, column },
    PageDown: { row: row + 16, column },
    Home: { row: all ? 0 : row, column: 0 },
    End: { row: all ? rows - 1 : row, column: columns - 1 },
  }
  return moves[event.key] ?? null
}

const clamp = (value: number, end: number) => Math.max(0, Math.min(end - 1, value))

function useMatrix(props: ViewProps) {
  const { communicator, byClass } = props
  const rows = useMemo(
    () => (byClass ? rowsByClass(communicator) : rowsByRank(communicator)),
    [communicator, byClass],
  )
  const columns = communicator.last - communicator.first + 1
  const scroller = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState(() => initialSize(props, rows))
  const [cursor, setCursor] = useState<Cursor>(() => ({
    row: rows.firstCulprit,
    column: (communicator.marked ?? communicator.last) - communicator.first,
  }))
  const geometry = geometryOf(byClass, size)
  const keep = useRef<{ cell: Cursor; x: number; y: number } | null>(null)
  const fixed = { left: geometry.gutter, top: geometry.head }

  // The cell under the pointer, or the cursor, stays where it is when the size changes.
  useLayoutEffect(() => {
    const element = scroller.current!
    const kept = keep.current
    keep.current = null
    if (!kept) return reveal(element, cellBox(geometry, cursor), fixed)
    element.scrollLeft = geometry.gutter + kept.cell.column * geometry.cellWidth - kept.x
    element.scrollTop = geometry.head + kept.cell.row * geometry.cellHeight - kept.y
  }, [size])

  const move = (to: Cursor) => {
    const next = { row: clamp(to.row, rows.count), column: clamp(to.column, columns) }
    setCursor(next)
    reveal(scroller.current!, cellBox(geometry, next), fixed)
  }
  const zoom = (direction: number, point?: Point) => {
    const cell = point && cellAt(point, scroller.current!, geometry)
    if (cell) keep.current = { cell, x: point.x, y: point.y }
    setSize(clamp(size + direction, SIZES.length))
  }
  return { rows, columns, scroller, geometry, cursor, move, zoom }
}

type Matrix = ReturnType<typeof useMatrix>

function linesAt({ rows }: Matrix, { communicator, calls, byClass }: ViewProps, at: Cursor) {
  const { member } = rows.block(at.row)
  const who = byClass ? whoText(member) : rows.label(at.row)
  return cellLines({ communicator, member, who, sequence: communicator.first + at.column }, calls)
}

function onKey(matrix: Matrix, event: KeyboardEvent) {
  const next = moved(matrix.cursor, event, matrix.rows.count, matrix.columns)
  const zoom = event.key === '+' || event.key === '=' ? 1 : event.key === '-' ? -1 : 0
  const isBrowserZoom = event.ctrlKey || event.metaKey
  if (next) matrix.move(next)
  else if (zoom && !isBrowserZoom) matrix.zoom(zoom)
  else return
  event.preventDefault()
}

function MatrixView(props: ViewProps) {
  const { communicator, palette } = props
  const matrix = useMatrix(props)
  const { rows, columns, geometry, cursor, scroller } = matrix
  const [tip, setTip] = useState<TipContent | null>(null)
  const point = (at: Point | null) => {
    const cell = at && cellAt(at, scroller.current!, geometry)
    const isCell = cell && cell.row < rows.count && cell.column < columns
    setTip(isCell ? { x: at.clientX, y: at.clientY, lines: linesAt(matrix, props, cell) } : null)
  }
  const pick = (at: Point) => {
    const cell = cellAt(at, scroller.current!, geometry)
    if (cell) matrix.move(cell)
  }
  const paint = (brush: Brush) =>
    paintMatrix(brush, { communicator, rows, palette, geometry, cursor })
  const [head, ...lines] = linesAt(matrix, props, cursor)
  return (
    <>
      <ZoomButtons names={['Smaller cells', 'Larger cells']} zoom={matrix.zoom} />
      <Scroller
        label={`Members of ${cut(communicator.name, 80)} by sequence number`}
        describedBy="matrix-keys"
        width={geometry.gutter + columns * geometry.cellWidth + 32}
        height={geometry.head + rows.count * geometry.cellHeight + 4}
        maxHeight={MAX_HEIGHT}
        scroller={scroller}
        paint={paint}
        onKeyDown={(event) => onKey(matrix, event)}
        onPoint={point}
        onPick={pick}
        onZoom={matrix.zoom}
      />
      <p class="cursor" id="matrix-cursor" aria-live="polite">
        <strong><bdi dir="ltr">{head}</bdi></strong>
        {lines.map((line) => <> · <bdi dir="ltr">{line}</bdi></>)}
      </p>
      <Tip tip={tip} />
    </>
  )
}

function StateAt({ member, sequence, calls }: {
  member: MemberClass
  sequence: number
  calls: Call[]
}) {
  const run = runAt(member.runs, sequence)
  const call = run && run[3] !== null ? calls[run[3]] : null
  return (
    <>
      {STATE_WORDS[run ? run[2] : State.NoTrace]}
      {call && <>: <Text text={callText(call)} limit={160} /></>}
      {call && placeText(call) && <>, <Text text={placeText(call)} limit={160} /></>}
    </>
  )
}

function ClassTable({ communicator, calls }: { communicator: Communicator; calls: Call[] }) {
  const sequence = communicator.marked ?? communicator.last
  const order = [...communicator.classes].sort((a, b) => Number(b.culprit) - Number(a.culprit))
  return (
    <details class="class-table">
      <summary>The classes as a table</summary>
      <Capped items={order} limit={64} noun="class" render={(shown) => (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th scope="col">Ranks</th>
                <th scope="col">Members</th>
                <th scope="col">Newest number entered</th>
                <th scope="col">At #{sequence}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((member) => (
                <tr class={member.culprit ? 'culprit' : ''}>
                  <th scope="row">
                    {member.culprit && '▸ '}<RanksText ranks={member.ranks} />
                    {member.culprit && ' (culprit)'}
                    {member.mixed && ' (not all the same)'}
                  </th>
                  <td class="figure">{member.ranks.count.toLocaleString('en-US')}</td>
                  <td class="figure">{member.entered}</td>
                  <td><StateAt member={member} sequence={sequence} calls={calls} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )} />
    </details>
  )
}

/** The calls of the window, in the order of their letters. */
function usedCalls({ classes }: Communicator): number[] {
  const used = new Set<number>()
  for (const { runs } of classes) {
    for (const [, , , call] of runs) if (call !== null) used.add(call)
  }
  return [...used].sort((a, b) => a - b)
}

const TAB_LIMIT = 5

function CommunicatorChoice({ communicators, selected, onSelect }: {
  communicators: Communicator[]
  selected: number
  onSelect: (index: number) => void
}) {
  if (communicators.length === 1) {
    return <span class="only"><Text text={communicators[0].name} limit={80} /></span>
  }
  const names = communicators.map(({ name, marked }) =>
    cut(name, 40) + (marked === null ? '' : ' ≠'))
  if (names.length <= TAB_LIMIT) {
    return <Choice label="Communicator" options={names} value={selected} onChange={onSelect} />
  }
  return (
    <label>
      Communicator{' '}
      <select
        value={String(selected)}
        onChange={(event) => onSelect(Number(event.currentTarget.value))}
      >
        {names.map((name, index) => <option value={String(index)}>{name}</option>)}
      </select>
    </label>
  )
}

function windowText({ first, last, highest, size }: Communicator): string {
  const members = count(size, 'member')
  const shown = first > 1 || last < highest ? `#${first} to #${last} of ${highest}` : `to #${last}`
  return `${members}, ${shown}`
}

interface PanelProps {
  report: Report
  palette: Look[]
  selected: number
  onSelect: (index: number) => void
}

function MatrixBody({ report, palette, selected, onSelect }: PanelProps) {
  const communicator = report.communicators[selected]
  const [chosen, setChosen] = useState<boolean | null>(null)
  const byClass = chosen ?? communicator.size > MOST_ROWS_BY_RANK
  const used = useMemo(() => usedCalls(communicator), [communicator])
  return (
    <>
      <div class="tools">
        <CommunicatorChoice
          communicators={report.communicators}
          selected={selected}
          onSelect={onSelect}
        />
        <span class="quiet">{windowText(communicator)}</span>
        <Choice
          label="Rows"
          options={MODES}
          value={byClass ? 0 : 1}
          onChange={(mode) => setChosen(mode === 0)}
        />
      </div>
      {communicator.classes.length === 0 || communicator.last < communicator.first
        ? <Empty>No calls are recorded on this communicator.</Empty>
        : <MatrixView
            key={`${selected} ${byClass}`}
            communicator={communicator}
            calls={report.calls}
            palette={palette}
            byClass={byClass}
          />}
      <StateLegend marked={communicator.marked} />
      <CallLegend calls={report.calls} palette={palette} used={used} />
      <p class="keys" id="matrix-keys">
        Keys: arrows, Home, End, Page Up and Page Down move the cursor; + and − change the size of
        the cells. Ctrl and the mouse wheel do so, too.
      </p>
      <ClassTable communicator={communicator} calls={report.calls} />
    </>
  )
}

export function MatrixPanel(props: PanelProps) {
  const total = props.report.communicators.length
  return (
    <Panel
      id="matrix"
      title="Collectives of each rank"
      aside={total > 1 ? count(total, 'communicator') : undefined}
    >
      {total === 0
        ? <Empty>No collective calls are recorded.</Empty>
        : <MatrixBody {...props} />}
    </Panel>
  )
}
