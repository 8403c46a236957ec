// Paints the visible part of the matrix of members and sequence numbers.
import { State, type Communicator, type Run } from './data'
import type { Block, Rows } from './members'
import type { Look } from './palette'
import type { Brush } from './scroller'

export interface Geometry {
  gutter: number // width of the rows' labels
  head: number // height of the sequence numbers
  cellWidth: number
  cellHeight: number
}

export interface Cursor {
  row: number
  column: number
}

export interface Scene {
  communicator: Communicator
  rows: Rows
  palette: Look[]
  geometry: Geometry
  cursor: Cursor
}

interface Window {
  firstRow: number
  endRow: number
  firstColumn: number
  endColumn: number
}

/** A smaller cell has no letters. */
const LETTER_WIDTH = 13
const LETTER_HEIGHT = 11

function visibleWindow({ view }: Brush, { communicator, rows, geometry }: Scene): Window {
  const { gutter, head, cellWidth, cellHeight } = geometry
  const columns = communicator.last - communicator.first + 1
  return {
    firstRow: Math.floor(view.top / cellHeight),
    endRow: Math.min(rows.count, Math.ceil((view.top + view.height - head) / cellHeight)),
    firstColumn: Math.floor(view.left / cellWidth),
    endColumn: Math.min(columns, Math.ceil((view.left + view.width - gutter) / cellWidth)),
  }
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

function fillRun(brush: Brush, look: Look | null, state: State, box: Box) {
  const { context, theme, patterns } = brush
  const fill = (style: string | CanvasPattern) => {
    context.fillStyle = style
    context.fillRect(box.x, box.y, box.width, box.height)
  }
  if (state === State.Done) {
    fill(look ? theme.fills[look.colour] : theme.lost)
    const pattern = look && patterns.operations[look.pattern]
    if (pattern) fill(pattern)
  } else if (state === State.Inside) {
    fill(theme.inside)
  } else if (state === State.Overwritten) {
    fill(theme.lost)
    fill(patterns.hatch)
  } else if (state === State.NoTrace) {
    fill(theme.sunk)
    fill(patterns.cross)
  } else {
    fill(theme.panel)
  }
}

function signOf(state: State, look: Look | null): string {
  if (state === State.NotThere) return '–'
  return look && state !== State.Overwritten ? look.letters : ''
}

/** Inside a call: a mark in the corner, so that the colour need not be seen. */
function paintInsideMark({ context, theme }: Brush, box: Box) {
  const size = Math.min(7, box.width / 2, box.height / 2)
  context.fillStyle = theme.insideInk
  context.beginPath()
  context.moveTo(box.x + box.width - size, box.y)
  context.lineTo(box.x + box.width, box.y)
  context.lineTo(box.x + box.width, box.y + size)
  context.fill()
}

function paintCell(brush: Brush, run: Run, look: Look | null, box: Box) {
  if (run[2] === State.Inside) paintInsideMark(brush, box)
  const sign = signOf(run[2], look)
  if (!sign || box.width < LETTER_WIDTH || box.height < LETTER_HEIGHT) return
  const { context } = brush
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2 + 1]
  // A limit makes the browser measure the text, which takes time.
  if (sign.length === 1) context.fillText(sign, x, y)
  else context.fillText(sign, x, y, box.width - 2)
}

/** Setting a font takes so long that it is done once a run. */
function setLetterStyle({ context, theme }: Brush, state: State, geometry: Geometry) {
  const { cellWidth, cellHeight } = geometry
  const isInside = state === State.Inside
  const colour = state === State.NotThere ? theme.muted : theme.ink
  context.fillStyle = isInside ? theme.insideInk : colour
  const size = Math.max(1, Math.min(12, cellWidth - 3, cellHeight - 1))
  const font = `${isInside ? 'bold ' : ''}${size}px ${theme.sans}`
  if (currentFont !== font) context.font = currentFont = font
}

let currentFont = ''

/** The columns of a run that are visible; null: none. */
function clipRun(run: Run, first: number, { firstColumn, endColumn }: Window) {
  const from = Math.max(run[0] - first, firstColumn)
  const to = Math.min(run[0] - first + run[1], endColumn)
  return from < to ? { from, to } : null
}

function paintBlock(brush: Brush, scene: Scene, block: Block, from: number, to: number, w: Window) {
  const { gutter, head, cellWidth, cellHeight } = scene.geometry
  const { left, top } = brush.view
  const y = head + from * cellHeight - top
  for (const run of block.member.runs) {
    const columns = clipRun(run, scene.communicator.first, w)
    if (!columns) continue
    const look = run[3] === null ? null : scene.palette[run[3]]
    const x = gutter + columns.from * cellWidth - left
    const width = (columns.to - columns.from) * cellWidth
    fillRun(brush, look, run[2], { x, y, width, height: (to - from) * cellHeight })
    if (cellWidth < SMALLEST_PAINTED) continue
    setLetterStyle(brush, run[2], scene.geometry)
    for (let row = from; row < to; row++) {
      for (let column = columns.from; column < columns.to; column++) {
        paintCell(brush, run, look, {
          x: gutter + column * cellWidth - left,
          y: head + row * cellHeight - top,
          width: cellWidth,
          height: cellHeight,
        })
      }
    }
  }
}

/** A smaller cell is one pixel of an image that is enlarged, which is much faster. */
const SMALLEST_PAINTED = 5

/** The bytes of a colour, "#rrggbb", as a pixel of an image. */
function pixelOf(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0
}

function pixelsOf({ theme }: Brush, palette: Look[]): (run: Run) => number {
  const lost = pixelOf(theme.lost)
  const fills = theme.fills.map(pixelOf)
  const calls = palette.map(({ colour }) => fills[colour])
  const states: Record<State, number> = {
    [State.Done]: lost,
    [State.Inside]: pixelOf(theme.inside),
    [State.NotThere]: pixelOf(theme.panel),
    [State.Overwritten]: lost,
    [State.NoTrace]: pixelOf(theme.sunk),
  }
  return ([, , state, call]) =>
    state === State.Done && call !== null ? calls[call] : states[state]
}

const image = document.createElement('canvas')

function paintSmallCells(brush: Brush, scene: Scene, w: Window) {
  const [width, height] = [w.endColumn - w.firstColumn, w.endRow - w.firstRow]
  if (width <= 0 || height <= 0) return
  const pixelFor = pixelsOf(brush, scene.palette)
  const data = new ImageData(width, height)
  const pixels = new Uint32Array(data.data.buffer)
  for (let row = 0; row < height; row++) {
    for (const run of scene.rows.block(w.firstRow + row).member.runs) {
      const columns = clipRun(run, scene.communicator.first, w)
      if (!columns) continue
      const start = row * width - w.firstColumn
      pixels.fill(pixelFor(run), start + columns.from, start + columns.to)
    }
  }
  image.width = width
  image.height = height
  image.getContext('2d')!.putImageData(data, 0, 0)
  const { gutter, head, cellWidth, cellHeight } = scene.geometry
  const { context, view } = brush
  context.imageSmoothingEnabled = false
  context.drawImage(image,
    gutter + w.firstColumn * cellWidth - view.left, head + w.firstRow * cellHeight - view.top,
    width * cellWidth, height * cellHeight)
}

function paintCells(brush: Brush, scene: Scene, w: Window) {
  const { cellWidth, cellHeight } = scene.geometry
  if (cellWidth < SMALLEST_PAINTED && cellHeight < SMALLEST_PAINTED) {
    return paintSmallCells(brush, scene, w)
  }
  brush.context.textAlign = 'center'
  brush.context.textBaseline = 'middle'
  currentFont = ''
  for (let row = w.firstRow; row < w.endRow;) {
    const block = scene.rows.block(row)
    const end = Math.min(block.first + block.count, w.endRow)
    paintBlock(brush, scene, block, row, end, w)
    row = end
  }
}

function paintGrid(brush: Brush, { geometry }: Scene, w: Window) {
  const { gutter, head, cellWidth, cellHeight } = geometry
  const { context, view, theme } = brush
  const right = gutter + w.endColumn * cellWidth - view.left
  const bottom = head + w.endRow * cellHeight - view.top
  context.strokeStyle = theme.panel
  context.lineWidth = 1
  context.beginPath()
  for (let row = w.firstRow; cellHeight >= 5 && row <= w.endRow; row++) {
    const y = Math.round(head + row * cellHeight - view.top) - 0.5
    context.moveTo(gutter, y)
    context.lineTo(right, y)
  }
  for (let column = w.firstColumn; cellWidth >= 5 && column <= w.endColumn; column++) {
    const x = Math.round(gutter + column * cellWidth - view.left) - 0.5
    context.moveTo(x, head)
    context.lineTo(x, bottom)
  }
  context.stroke()
}

/** Where the window of sequence numbers ends: what is right of it is not "not called". */
function paintEnd({ context, view, theme }: Brush, { communicator, geometry }: Scene, w: Window) {
  const { gutter, head, cellWidth, cellHeight } = geometry
  const columns = communicator.last - communicator.first + 1
  context.fillStyle = theme.line
  context.fillRect(gutter + columns * cellWidth - view.left, head, 1,
    w.endRow * cellHeight - view.top)
}

function columnBox({ view }: Brush, { geometry }: Scene, column: number, w: Window): Box {
  const { gutter, head, cellWidth, cellHeight } = geometry
  return {
    x: gutter + column * cellWidth - view.left,
    y: head,
    width: cellWidth,
    height: w.endRow * cellHeight - view.top,
  }
}

function paintMarked(brush: Brush, scene: Scene, w: Window) {
  const { marked, first } = scene.communicator
  if (marked === null) return
  const box = columnBox(brush, scene, marked - first, w)
  brush.context.strokeStyle = brush.theme.culprit
  brush.context.lineWidth = 2
  brush.context.strokeRect(box.x - 1, box.y + 1, Math.max(3, box.width), box.height - 2)
}

function paintCursor({ context, view, theme, focused }: Brush, { geometry, cursor }: Scene) {
  const { gutter, head, cellWidth, cellHeight } = geometry
  // Within the frame of the marked column, which stays visible.
  const inset = cellWidth > 12 ? 2 : 0
  const x = gutter + cursor.column * cellWidth - view.left + inset
  const y = head + cursor.row * cellHeight - view.top + inset
  const width = Math.max(cellWidth, 4) - 2 * inset
  const height = Math.max(cellHeight, 4) - 2 * inset
  context.strokeStyle = theme.panel
  context.lineWidth = focused ? 5 : 3
  context.strokeRect(x, y, width - 1, height - 1)
  context.strokeStyle = focused ? theme.focus : theme.ink
  context.lineWidth = focused ? 3 : 1
  context.strokeRect(x, y, width - 1, height - 1)
}

function stepFor(cell: number, space: number): number {
  for (let step = 1; ; step *= 10) {
    for (const factor of [1, 2, 5]) {
      if (step * factor * cell >= space) return step * factor
    }
  }
}

const LABEL_SPACE = 14

function paintRowLabel(brush: Brush, { rows, geometry }: Scene, row: number) {
  const { context, view, theme } = brush
  const { gutter, head, cellHeight } = geometry
  const { culprit } = rows.block(row).member
  const y = head + (row + 0.5) * cellHeight - view.top
  context.fillStyle = theme.panel
  context.fillRect(0, y - LABEL_SPACE / 2, gutter, LABEL_SPACE)
  context.fillStyle = culprit ? theme.culprit : theme.ink
  context.font = `${culprit ? 'bold ' : ''}12px ${theme.sans}`
  context.textAlign = 'left'
  context.fillText(`${culprit ? '▸ ' : '  '}${rows.label(row)}`, 6, y)
  context.textAlign = 'right'
  context.fillStyle = theme.muted
  context.fillText(rows.note(row), gutter - 8, y)
}

/** Of rows too small for a label each, every n-th has one, and the culprits do. */
function paintRowLabels(brush: Brush, scene: Scene, w: Window) {
  const { rows, geometry } = scene
  const step = stepFor(geometry.cellHeight, LABEL_SPACE)
  brush.context.textBaseline = 'middle'
  for (let row = Math.floor(w.firstRow / step) * step; row < w.endRow; row += step) {
    paintRowLabel(brush, scene, row)
  }
  if (step === 1) return
  for (let row = w.firstRow; row < w.endRow;) {
    const { first, count, member } = rows.block(row)
    if (member.culprit) paintRowLabel(brush, scene, row)
    row = member.culprit ? row + step : first + count
  }
}

function paintGutter(brush: Brush, scene: Scene, w: Window) {
  const { context, view, theme } = brush
  const { gutter, head } = scene.geometry
  context.fillStyle = theme.panel
  context.fillRect(0, 0, gutter, view.height)
  context.save()
  context.beginPath()
  context.rect(0, head, gutter, view.height)
  context.clip()
  paintRowLabels(brush, scene, w)
  context.restore()
}

function paintHead(brush: Brush, { communicator, geometry }: Scene, w: Window) {
  const { context, view, theme } = brush
  const { gutter, head, cellWidth } = geometry
  context.fillStyle = theme.panel
  context.fillRect(0, 0, view.width, head)
  context.save()
  context.beginPath()
  context.rect(gutter - 12, 0, view.width, head)
  context.clip()
  context.textAlign = 'center'
  context.textBaseline = 'alphabetic'
  const { first, marked } = communicator
  const step = stepFor(cellWidth, 44)
  const centre = (sequence: number) => gutter + (sequence - first + 0.5) * cellWidth - view.left
  context.fillStyle = theme.muted
  context.font = `11px ${theme.sans}`
  const start = Math.ceil((first + w.firstColumn) / step) * step
  for (let sequence = start; sequence < first + w.endColumn; sequence += step) {
    const isFree = marked === null || Math.abs(sequence - marked) * cellWidth > 44
    if (isFree) context.fillText(String(sequence), centre(sequence), head - 6)
  }
  if (marked !== null) {
    context.fillStyle = theme.culprit
    context.font = `bold 12px ${theme.sans}`
    context.fillText(`#${marked} ▾`, centre(marked), head - 6)
  }
  context.restore()
}

export function paintMatrix(brush: Brush, scene: Scene): void {
  const w = visibleWindow(brush, scene)
  paintCells(brush, scene, w)
  paintGrid(brush, scene, w)
  paintEnd(brush, scene, w)
  paintMarked(brush, scene, w)
  paintCursor(brush, scene)
  paintGutter(brush, scene, w)
  paintHead(brush, scene, w)
}
