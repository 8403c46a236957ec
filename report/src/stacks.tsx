// The stacks of all ranks, with common frames merged: an icicle, outermost frames on top.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Report, StackNode } from './data'
import { boxesOf, countMatches, matches, type Box } from './stack_tree'
import { count, cut } from './text'
import { Empty, LeftOut, Panel, ranksAndCount, Tip, type TipContent } from './widgets'

const ROW = 23
const NARROWEST = 0.0015 // of the width; a narrower frame is not drawn

function nameOf(node: StackNode): string {
  return node.function || node.place || 'all ranks'
}

function linesOf(node: StackNode): string[] {
  const thread = node.thread && `thread ${node.thread}`
  const code = node.function && !node.user ? 'of a library or framework' : ''
  return [nameOf(node), node.place, ranksAndCount(node.ranks, 120), thread, code].filter(Boolean)
}

interface Shown extends Box {
  left: number // 0 to 1
  width: number
}

/** The frames below and above the one that is zoomed into. */
function shownBoxes(boxes: Box[], zoomed: Box): Shown[] {
  const end = zoomed.start + zoomed.weight
  const shown: Shown[] = []
  for (const box of boxes) {
    const isInside = box.depth >= zoomed.depth && box.start >= zoomed.start && box.start < end
    const left = isInside ? (box.start - zoomed.start) / zoomed.weight : 0
    const width = isInside ? box.weight / zoomed.weight : 1
    const isCaller = box.depth < zoomed.depth && box.start <= zoomed.start &&
      box.start + box.weight >= end
    if ((isInside && width >= NARROWEST) || isCaller) shown.push({ ...box, left, width })
  }
  return shown
}

function neighbour(shown: Shown[], box: Box, key: string): Shown | undefined {
  const row = shown.filter(({ depth }) => depth === box.depth)
  const at = row.findIndex(({ index }) => index === box.index)
  switch (key) {
    case 'ArrowDown': return shown.find(({ parent }) => parent === box.index)
    case 'ArrowUp': return shown.find(({ index }) => index === box.parent)
    case 'ArrowLeft': return row[at - 1]
    case 'ArrowRight': return row[at + 1]
    case 'Home': return shown[0]
    default: return undefined
  }
}

interface FrameProps {
  box: Shown
  isMatch: boolean
  isZoomed: boolean
  isCurrent: boolean
  onZoom: (index: number) => void
  onTip: (tip: TipContent | null) => void
}

function FrameBox({ box, isMatch, isZoomed, isCurrent, onZoom, onTip }: FrameProps) {
  const { node, left, width, depth, index } = box
  const names = ['frame', node.user && 'user', node.thread && 'thread', isMatch && 'match',
    isZoomed && 'zoomed']
  return (
    <button
      type="button"
      class={names.filter(Boolean).join(' ')}
      data-index={index}
      tabIndex={isCurrent ? 0 : -1}
      aria-label={linesOf(node).map((line) => cut(line, 200)).join(', ')}
      style={{
        left: `${left * 100}%`,
        width: `${width * 100}%`,
        top: `${depth * ROW}px`,
        height: `${ROW - 1}px`,
      }}
      onClick={() => onZoom(index)}
      onPointerMove={({ clientX: x, clientY: y }) => onTip({ x, y, lines: linesOf(node) })}
      onPointerLeave={() => onTip(null)}
    >
      {width > 0.025 && (
        <span class="frame-text">
          {isMatch && '● '}
          <bdi dir="ltr">{cut(nameOf(node), 120)}</bdi>
          {node.place && <span class="place"><bdi dir="ltr">{cut(node.place, 80)}</bdi></span>}
          <span class="count">{node.ranks.count.toLocaleString('en-US')}</span>
        </span>
      )}
    </button>
  )
}

function useIcicle(root: StackNode) {
  const boxes = useMemo(() => boxesOf(root), [root])
  const [zoomed, setZoomed] = useState(0)
  const [current, setCurrent] = useState(0)
  const element = useRef<HTMLDivElement>(null)
  const refocus = useRef(false)
  const shown = useMemo(() => shownBoxes(boxes, boxes[zoomed]), [boxes, zoomed])
  useLayoutEffect(() => {
    if (refocus.current) {
      element.current!.querySelector<HTMLElement>(`[data-index="${current}"]`)?.focus()
    }
    refocus.current = false
  }, [current, zoomed])
  const zoom = (index: number) => {
    refocus.current = true
    setZoomed(index)
    setCurrent(index)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const next = neighbour(shown, boxes[current], event.key)
    if (next) {
      refocus.current = true
      setCurrent(next.index)
    } else if (event.key === 'Escape') {
      zoom(0)
    } else {
      return
    }
    event.preventDefault()
  }
  return { boxes, shown, zoomed, current, element, zoom, onKeyDown }
}

function Search({ root, wanted, onInput }: {
  root: StackNode
  wanted: string
  onInput: (text: string) => void
}) {
  const { main, others } = countMatches(root, wanted.toLowerCase())
  const rest = others > 0 ? `, and ${count(others, 'other thread')}` : ''
  return (
    <>
      <label>
        Find a frame{' '}
        <input
          type="search"
          value={wanted}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </label>
      <span class="quiet" role="status">{wanted && `in ${count(main, 'rank')}${rest}`}</span>
    </>
  )
}

function Icicle({ root }: { root: StackNode }) {
  const { boxes, shown, zoomed, current, element, zoom, onKeyDown } = useIcicle(root)
  const [wanted, setWanted] = useState('')
  const [tip, setTip] = useState<TipContent | null>(null)
  const rows = 1 + Math.max(...shown.map(({ depth }) => depth))
  const found = wanted.toLowerCase()
  return (
    <>
      <div class="tools">
        <Search root={root} wanted={wanted} onInput={setWanted} />
        <button type="button" disabled={zoomed === 0} onClick={() => zoom(0)}>
          Reset the zoom
        </button>
      </div>
      <div class="icicle-frame">
        <div
          class="icicle"
          role="group"
          aria-label="Merged stacks, outermost frames on top"
          aria-describedby="stacks-keys"
          ref={element}
          style={{ height: `${rows * ROW}px` }}
          onKeyDown={onKeyDown}
        >
          {shown.map((box) => (
            <FrameBox
              key={box.index}
              box={box}
              isMatch={found !== '' && matches(boxes[box.index].node, found)}
              isZoomed={box.index === zoomed && zoomed !== 0}
              isCurrent={box.index === current}
              onZoom={zoom}
              onTip={setTip}
            />
          ))}
        </div>
      </div>
      <p class="keys" id="stacks-keys">
        The width is the number of ranks, with other threads beside (dashed); bold frames are the
        program's own. Arrows move, Enter or a
        click zooms into a frame, Escape resets the zoom.
      </p>
      <Tip tip={tip} />
    </>
  )
}

export function StacksPanel({ stacks }: { stacks: Report['stacks'] }) {
  const { root } = stacks
  const isEmpty = root.callees.length === 0
  return (
    <Panel
      id="stacks"
      title="Stacks"
      aside={isEmpty ? undefined : `of ${count(root.ranks.count, 'rank')}`}
    >
      {isEmpty ? <Empty>No stacks are recorded.</Empty> : <Icicle root={root} />}
      <LeftOut text={stacks.left_out} />
    </Panel>
  )
}
