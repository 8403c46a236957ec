// The colours of style.css, for canvases.
import { COLOURS, PATTERNS } from './palette'

export interface Theme {
  fills: string[]
  ink: string
  muted: string
  line: string
  panel: string
  sunk: string
  inside: string
  insideInk: string
  lost: string
  culprit: string
  focus: string
  sans: string
  mono: string
}

export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return {
    fills: Array.from({ length: COLOURS }, (_, index) => read(`--fill-${index}`)),
    ink: read('--ink'),
    muted: read('--muted'),
    line: read('--line'),
    panel: read('--panel'),
    sunk: read('--sunk'),
    inside: read('--inside'),
    insideInk: read('--inside-ink'),
    lost: read('--lost'),
    culprit: read('--culprit'),
    focus: read('--focus'),
    sans: read('--sans'),
    mono: read('--mono'),
  }
}

type Stroke = (context: CanvasRenderingContext2D) => void

function line(x1: number, y1: number, x2: number, y2: number): Stroke {
  return (context) => {
    context.beginPath()
    context.moveTo(x1, y1)
    context.lineTo(x2, y2)
    context.stroke()
  }
}

const rising = [line(-1, 9, 9, -1), line(-1, 1, 1, -1), line(7, 9, 9, 7)]
const falling = [line(-1, -1, 9, 9), line(7, -1, 9, 1), line(-1, 7, 1, 9)]
const dot: Stroke = (context) => context.fillRect(3, 3, 2, 2)
const overlays: Stroke[][] = [[], rising, [line(0, 4, 8, 4)], [dot]]
const hatch = rising
const cross = [...rising, ...falling]

function tile(colour: string, alpha: number, strokes: Stroke[]): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 8
  const context = canvas.getContext('2d')!
  context.strokeStyle = context.fillStyle = colour
  context.globalAlpha = alpha
  for (const stroke of strokes) stroke(context)
  return canvas
}

export interface Patterns {
  operations: (CanvasPattern | null)[]
  hatch: CanvasPattern
  cross: CanvasPattern
}

export function makePatterns(context: CanvasRenderingContext2D, theme: Theme): Patterns {
  const pattern = (strokes: Stroke[], alpha: number) =>
    context.createPattern(tile(theme.muted, alpha, strokes), 'repeat')!
  return {
    // Letters are on top of these.
    operations: overlays.slice(0, PATTERNS).map((strokes, index) =>
      index === 0 ? null : pattern(strokes, 0.45)),
    hatch: pattern(hatch, 0.9),
    cross: pattern(cross, 0.7),
  }
}
