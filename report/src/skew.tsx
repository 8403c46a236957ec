// How far apart the members arrive at each collective.
import { useMemo, useState } from 'preact/hooks'
import type { Arrival, Communicator } from './data'
import { cut, duration } from './text'
import { Tip, type TipContent } from './widgets'

const WIDTH = 600
const HEIGHT = 110
const BASE = HEIGHT - 18
const TOP = 16

function lineOf([sequence, first, last, rank]: Arrival): string {
  return `#${sequence}: ${duration(last - first)} apart, rank ${rank} last`
}

function bars(arrivals: Arrival[], most: number): string {
  const width = WIDTH / arrivals.length
  const gap = width > 4 ? 1 : 0
  return arrivals.map(([, first, last], index) => {
    const height = Math.max(1, ((last - first) / most) * (BASE - TOP))
    return `M${index * width} ${BASE}v${-height}h${width - gap}v${height}z`
  }).join('')
}

function moved(key: string, at: number, length: number): number | null {
  const steps: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    Home: 0,
    End: length - 1,
  }
  return key in steps ? Math.max(0, Math.min(length - 1, steps[key])) : null
}

export function SkewChart({ communicator }: { communicator: Communicator }) {
  const { arrivals, name } = communicator
  const most = Math.max(1, ...arrivals.map(([, first, last]) => last - first))
  const worst = arrivals.findIndex(([, first, last]) => last - first === most)
  const [chosen, setChosen] = useState(Math.max(0, worst))
  const [tip, setTip] = useState<TipContent | null>(null)
  const path = useMemo(() => bars(arrivals, most), [arrivals])
  const width = WIDTH / arrivals.length
  const onPointerMove = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const index = Math.floor(((event.clientX - box.left) / box.width) * arrivals.length)
    const arrival = arrivals[index]
    setTip(arrival ? { x: event.clientX, y: event.clientY, lines: [lineOf(arrival)] } : null)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moved(event.key, chosen, arrivals.length)
    if (next === null) return
    setChosen(next)
    event.preventDefault()
  }
  return (
    <>
      <svg
        class="skew"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        tabindex={0}
        role="application"
        aria-label={`Time between arrivals at the collectives of ${cut(name, 80)}`}
        aria-describedby="skew-cursor"
        onPointerMove={onPointerMove}
        onPointerLeave={() => setTip(null)}
        onKeyDown={onKeyDown}
      >
        <path class="bars" d={path} />
        <rect
          class="chosen"
          x={chosen * width - 1}
          y={TOP - 4}
          width={Math.max(3, width + 1)}
          height={BASE - TOP + 5}
        />
        <path class="axis" d={`M0 ${BASE}h${WIDTH}`} />
        <text x="0" y="11">{duration(most)}</text>
        <text x="0" y={HEIGHT - 3}>#{arrivals[0][0]}</text>
        <text x={WIDTH} y={HEIGHT - 3} text-anchor="end">#{arrivals[arrivals.length - 1][0]}</text>
      </svg>
      <p class="cursor" id="skew-cursor" aria-live="polite">
        {lineOf(arrivals[chosen])}
      </p>
      <Tip tip={tip} />
    </>
  )
}
