// What the colours, patterns and letters of the matrix and the timeline mean.
import type { Call } from './data'
import { callText, placeText } from './cell_text'
import type { Look } from './palette'
import { cut } from './text'
import { Capped } from './widgets'

export function Swatch({ name, text }: { name: string; text: string }) {
  return <span class={`swatch ${name}`} aria-hidden="true">{text}</span>
}

export function CallLegend({ calls, palette, used }: {
  calls: Call[]
  palette: Look[]
  used: number[]
}) {
  return (
    <Capped items={used} limit={8} noun="call" render={(shown) => (
      <ul class="legend calls">
        {shown.map((index) => {
          const { colour, pattern, letters } = palette[index]
          const place = cut(placeText(calls[index]), 70)
          return (
            <li>
              <Swatch name={`fill-${colour} pattern-${pattern}`} text={letters} />
              <span class="call"><bdi dir="ltr">{cut(callText(calls[index]), 90)}</bdi></span>
              {' '}<span class="place"><bdi dir="ltr">{place}</bdi></span>
            </li>
          )
        })}
      </ul>
    )} />
  )
}

const STATES: [name: string, text: string, meaning: string][] = [
  ['done', 'A', 'called, returned'],
  ['inside', 'A', 'inside the call'],
  ['not-there', '–', 'not called'],
  ['overwritten', '', 'record overwritten'],
  ['no-trace', '', 'no trace'],
]

export function StateLegend({ marked }: { marked: number | null }) {
  return (
    <ul class="legend states">
      {STATES.map(([name, text, meaning]) => <li><Swatch name={name} text={text} /> {meaning}</li>)}
      {marked !== null && <li><Swatch name="frame" text="" /> the verdict is about #{marked}</li>}
    </ul>
  )
}
