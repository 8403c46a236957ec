// A canvas that shows a part of something larger, with the browser's own scrolling. Painting
// happens once a frame at most, and only what is visible is painted.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { RefObject } from 'preact'
import { makePatterns, readTheme, type Patterns, type Theme } from './theme'

export interface View {
  left: number
  top: number
  width: number
  height: number
}

export interface Brush {
  context: CanvasRenderingContext2D
  view: View
  theme: Theme
  patterns: Patterns
  focused: boolean
}

export interface Point {
  x: number // in the view
  y: number
  clientX: number
  clientY: number
}

interface Props {
  label: string
  describedBy: string
  width: number // of the whole
  height: number
  maxHeight: number
  scroller: RefObject<HTMLDivElement | null>
  paint: (brush: Brush) => void
  onKeyDown: (event: KeyboardEvent) => void
  onPoint: (point: Point | null) => void
  onPick: (point: Point) => void
  onZoom: (direction: number, point: Point) => void
}

const SCROLLBAR = 16

/** Painting of one canvas: its size, its theme, and when to paint. */
class Painter {
  private frame = 0
  private brush: Brush | null = null
  paint: (brush: Brush) => void = () => {}

  constructor(readonly scroller: HTMLElement, readonly canvas: HTMLCanvasElement) {}

  readonly schedule = () => {
    if (!this.frame) this.frame = requestAnimationFrame(this.run)
  }

  readonly forgetTheme = () => {
    this.brush = null
    this.schedule()
  }

  stop() {
    cancelAnimationFrame(this.frame)
  }

  private readonly run = () => {
    this.frame = 0
    const { scroller } = this
    const view = {
      left: scroller.scrollLeft,
      top: scroller.scrollTop,
      width: scroller.clientWidth,
      height: scroller.clientHeight,
    }
    if (view.width === 0 || view.height === 0) return
    const focused = document.activeElement === scroller
    const brush = { ...this.prepare(view), view, focused }
    brush.context.clearRect(0, 0, view.width, view.height)
    this.paint(brush)
  }

  private prepare(view: View): Brush {
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(view.width * ratio)
    const height = Math.round(view.height * ratio)
    const { canvas } = this
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width
      canvas.height = height
      canvas.style.width = `${view.width}px`
      canvas.style.height = `${view.height}px`
    }
    if (!this.brush) {
      const context = canvas.getContext('2d')!
      const theme = readTheme(canvas)
      this.brush = { context, view, theme, patterns: makePatterns(context, theme), focused: false }
    }
    this.brush.context.setTransform(ratio, 0, 0, ratio, 0, 0)
    return this.brush
  }
}

function usePainter(props: Props, canvas: RefObject<HTMLCanvasElement | null>) {
  const painter = useRef<Painter | null>(null)
  useLayoutEffect(() => {
    const made = new Painter(props.scroller.current!, canvas.current!)
    painter.current = made
    const resized = new ResizeObserver(made.schedule)
    resized.observe(made.scroller)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', made.forgetTheme)
    return () => {
      made.stop()
      resized.disconnect()
      dark.removeEventListener('change', made.forgetTheme)
    }
  }, [])
  useLayoutEffect(() => {
    painter.current!.paint = props.paint
    painter.current!.schedule()
  })
  return painter
}

function pointOf(event: MouseEvent, scroller: HTMLElement): Point {
  const box = scroller.getBoundingClientRect()
  return {
    x: event.clientX - box.left - scroller.clientLeft,
    y: event.clientY - box.top - scroller.clientTop,
    clientX: event.clientX,
    clientY: event.clientY,
  }
}

/** Wheel with ctrl zooms; the browser must not zoom the page, so the listener is not passive. */
function useWheelZoom({ scroller, onZoom }: Props) {
  const latest = useRef(onZoom)
  latest.current = onZoom
  useEffect(() => {
    const element = scroller.current!
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      latest.current(event.deltaY < 0 ? 1 : -1, pointOf(event, element))
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [])
}

interface Drag {
  x: number
  y: number
  left: number
  top: number
  moved: boolean
}

/** Dragging with the mouse scrolls; a press without a movement picks. */
function useDrag({ scroller, onPoint, onPick }: Props) {
  const drag = useRef<Drag | null>(null)
  const onPointerDown = (event: PointerEvent) => {
    const element = scroller.current!
    const point = pointOf(event, element)
    const isScrollbar = point.x > element.clientWidth || point.y > element.clientHeight
    if (event.button !== 0 || event.pointerType === 'touch' || isScrollbar) return
    const { scrollLeft: left, scrollTop: top } = element
    drag.current = { x: event.clientX, y: event.clientY, left, top, moved: false }
    element.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent) => {
    const element = scroller.current!
    const held = drag.current
    if (!held) return onPoint(pointOf(event, element))
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y]
    if (!held.moved && Math.abs(dx) + Math.abs(dy) < 4) return
    held.moved = true
    element.scrollTo(held.left - dx, held.top - dy)
    onPoint(null)
  }
  const onPointerUp = (event: PointerEvent) => {
    const held = drag.current
    drag.current = null
    if (held ? !held.moved : event.pointerType === 'touch') {
      onPick(pointOf(event, scroller.current!))
    }
  }
  return { onPointerDown, onPointerMove, onPointerUp, onPointerLeave: () => onPoint(null) }
}

export function Scroller(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const painter = usePainter(props, canvas)
  useWheelZoom(props)
  const repaint = () => painter.current!.schedule()
  return (
    <div
      ref={props.scroller}
      class="scroller"
      tabIndex={0}
      role="application"
      aria-label={props.label}
      aria-describedby={props.describedBy}
      style={{ height: `${Math.min(props.height + SCROLLBAR, props.maxHeight)}px` }}
      onScroll={repaint}
      onFocus={repaint}
      onBlur={repaint}
      onKeyDown={props.onKeyDown}
      {...useDrag(props)}
    >
      <div class="content" style={{ width: `${props.width}px`, height: `${props.height}px` }}>
        <canvas ref={canvas} aria-hidden="true" />
      </div>
    </div>
  )
}

export function ZoomButtons({ names: [out, into], zoom }: {
  names: [out: string, into: string]
  zoom: (direction: number) => void
}) {
  return (
    <span class="zoom">
      <button type="button" aria-label={out} onClick={() => zoom(-1)}>−</button>
      <button type="button" aria-label={into} onClick={() => zoom(1)}>+</button>
    </span>
  )
}

/** Scrolls so that a box of the content is in the view, beside the fixed head and gutter. */
export function reveal(
  element: HTMLElement,
  box: { x: number; y: number; width: number; height: number },
  fixed: { left: number; top: number },
): void {
  const right = box.x + box.width - element.clientWidth
  const bottom = box.y + box.height - element.clientHeight
  if (element.scrollLeft > box.x - fixed.left) element.scrollLeft = box.x - fixed.left
  else if (element.scrollLeft < right) element.scrollLeft = right
  if (element.scrollTop > box.y - fixed.top) element.scrollTop = box.y - fixed.top
  else if (element.scrollTop < bottom) element.scrollTop = bottom
}
