// Paints the visible part of the timeline.
import type { TimelineClass, Span } from './data'
import type { Look } from './palette'
import type { Brush } from './scroller'
import { cut, rankText } from './text'

export interface Scale {
  gutter: number
  head: number
  lane: number // height
  span: number // ns
  pixels: number // width of `span`
}

/** A span is chosen by its lane and its place in it. */
export interface Chosen {
  lane: number
  span: number
}

export interface Scene {
  lanes: TimelineClass[]
  palette: Look[]
  scale: Scale
  chosen: Chosen
}

export function spanEnd(span: Span, scale: Scale): number {
  return span[1] === null ? scale.span : Math.min(scale.span, span[0] + span[1])
}

export function xOf(time: number, { gutter, span, pixels }: Scale): number {
  return gutter + (span > 0 ? time / span : 0) * pixels
}

/** The first span that ends behind `time`; spans of nonblocking calls may overlap. */
function firstVisible(spans: Span[], time: number, scale: Scale): number {
  const index = spans.findIndex((span) => spanEnd(span, scale) >= time)
  return index < 0 ? spans.length : index
}

function paintOpenEnd({ context, theme }: Brush, x: number, y: number, height: number) {
  context.fillStyle = theme.insideInk
  context.beginPath()
  context.moveTo(x - 9, y + 3)
  context.lineTo(x - 2, y + height / 2)
  context.lineTo(x - 9, y + height - 3)
  context.fill()
}

function paintSpan(brush: Brush, scene: Scene, span: Span, y: number, isChosen: boolean) {
  const { context, theme, patterns, view, focused } = brush
  const { scale, palette } = scene
  const look = palette[span[2]]
  const isOpen = span[1] === null
  const x = Math.max(scale.gutter - 2, xOf(span[0], scale) - view.left)
  const end = Math.min(view.width + 2, xOf(spanEnd(span, scale), scale) - view.left)
  const width = Math.max(1, end - x)
  const height = scale.lane - 5
  context.fillStyle = isOpen ? theme.inside : theme.fills[look?.colour ?? 0]
  context.fillRect(x, y, width, height)
  const pattern = !isOpen && look && patterns.operations[look.pattern]
  if (pattern) {
    context.fillStyle = pattern
    context.fillRect(x, y, width, height)
  }
  if (width > 3) {
    context.fillStyle = theme.muted
    context.fillRect(x, y, 1, height)
  }
  if (look && width > 8 + 7 * look.letters.length) {
    context.fillStyle = isOpen ? theme.insideInk : theme.ink
    context.font = `${isOpen ? 'bold ' : ''}11px ${theme.sans}`
    context.fillText(look.letters, x + 5, y + height / 2 + 1)
  }
  if (isOpen) paintOpenEnd(brush, end, y, height)
  if (!isChosen) return
  context.strokeStyle = focused ? theme.focus : theme.ink
  context.lineWidth = focused ? 3 : 1
  context.strokeRect(x, y - 1, Math.max(3, width), height + 2)
}

function paintLane(brush: Brush, scene: Scene, index: number) {
  const { view, context, theme } = brush
  const { scale, lanes, chosen } = scene
  const y = scale.head + index * scale.lane - view.top + 2
  const { spans } = lanes[index]
  context.fillStyle = theme.sunk
  context.fillRect(scale.gutter, y, view.width, scale.lane - 5)
  const perPixel = scale.span / scale.pixels
  const from = view.left * perPixel
  const to = (view.left + view.width - scale.gutter) * perPixel
  let painted = -Infinity
  for (let at = firstVisible(spans, from, scale); at < spans.length && spans[at][0] <= to; at++) {
    const isChosen = chosen.lane === index && chosen.span === at
    const end = xOf(spanEnd(spans[at], scale), scale)
    // Of the spans that end in one pixel, one is enough.
    if (!isChosen && end - painted < 0.5) continue
    painted = end
    paintSpan(brush, scene, spans[at], y, isChosen)
  }
}

function paintLabels(brush: Brush, { lanes, scale }: Scene, first: number, end: number) {
  const { context, view, theme } = brush
  context.fillStyle = theme.panel
  context.fillRect(0, 0, scale.gutter, view.height)
  context.save()
  context.beginPath()
  context.rect(0, scale.head, scale.gutter - 6, view.height)
  context.clip()
  for (let index = first; index < end; index++) {
    const { culprit, ranks } = lanes[index]
    context.fillStyle = culprit ? theme.culprit : theme.ink
    context.font = `${culprit ? 'bold ' : ''}12px ${theme.sans}`
    const y = scale.head + (index + 0.5) * scale.lane - view.top
    const many = ranks.count > 2 ? `  ×${ranks.count.toLocaleString('en-US')}` : ''
    context.fillText(`${culprit ? '▸ ' : '  '}${cut(rankText(ranks), 22)}${many}`, 6, y)
  }
  context.restore()
}

/** A round number of nanoseconds between two marks of the axis. */
function axisStep({ span, pixels }: Scale): number {
  const least = (span / pixels) * 90
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least)!
}

function axisText(time: number, step: number): string {
  const [unit, name] = step >= 1e9 ? [1e9, 's'] : step >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs']
  return `${(time / unit).toLocaleString('en-US', { maximumFractionDigits: 3 })} ${name}`
}

function paintAxis(brush: Brush, { scale }: Scene) {
  const { context, view, theme } = brush
  context.fillStyle = theme.panel
  context.fillRect(0, 0, view.width, scale.head)
  if (scale.span <= 0) return
  context.save()
  context.beginPath()
  context.rect(scale.gutter, 0, view.width, scale.head)
  context.clip()
  context.fillStyle = theme.muted
  context.font = `11px ${theme.sans}`
  const step = axisStep(scale)
  const start = Math.ceil(((view.left - 60) / scale.pixels) * scale.span / step)
  for (let mark = Math.max(0, start); mark * step <= scale.span; mark++) {
    const x = xOf(mark * step, scale) - view.left
    if (x > view.width) break
    context.fillRect(x, scale.head - 6, 1, 6)
    if (x < view.width - 50) context.fillText(axisText(mark * step, step), x + 4, scale.head - 9)
  }
  context.restore()
}

export function paintTimeline(brush: Brush, scene: Scene): void {
  const { view, context } = brush
  const { scale, lanes } = scene
  context.textAlign = 'left'
  context.textBaseline = 'middle'
  const first = Math.floor(view.top / scale.lane)
  const end = Math.min(lanes.length, Math.ceil((view.top + view.height - scale.head) / scale.lane))
  for (let index = first; index < end; index++) paintLane(brush, scene, index)
  paintLabels(brush, scene, first, end)
  paintAxis(brush, scene)
}
