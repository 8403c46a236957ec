// Small parts that several panels use.
import { Component, type ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { count, cut, rankText } from './text'
import type { Ranks } from './data'

/** Text of the job: isolated from the direction of its surroundings, and cut if it is long. */
export function Text({ text, limit = 300 }: { text: string; limit?: number }) {
  const [all, setAll] = useState(false)
  if (all || text.length <= limit * 1.2) return <bdi dir="ltr">{text}</bdi>
  return (
    <>
      <bdi dir="ltr">{cut(text, limit)}</bdi>{' '}
      <button type="button" class="more" onClick={() => setAll(true)}>
        show all {count(text.length, 'character')}
      </button>
    </>
  )
}

export function RanksText({ ranks }: { ranks: Ranks }) {
  const word = ranks.count === 0 ? '' : ranks.count === 1 ? 'rank ' : 'ranks '
  return <>{word}<Text text={ranks.count === 0 ? 'no rank' : ranks.text} limit={80} /></>
}

/** "ranks 0-2,8", with how many if the text does not show it. */
export function ranksAndCount(ranks: Ranks, length = 60): string {
  const text = rankText(ranks, length)
  return ranks.count > 2 ? `${text} (${ranks.count.toLocaleString('en-US')})` : text
}

interface PanelProps {
  id: string
  title: string
  aside?: string
  children: ComponentChildren
}

export function Panel({ id, title, aside, children }: PanelProps) {
  return (
    <section id={id} class="panel" aria-labelledby={`${id}-title`}>
      <div class="panel-head">
        <h2 id={`${id}-title`}>{title}</h2>
        {aside && <p class="aside">{aside}</p>}
      </div>
      {children}
    </section>
  )
}

interface GuardProps {
  id: string
  title: string
  children: ComponentChildren
}

/** Damaged data of one panel must not take the others with them. */
export class Guard extends Component<GuardProps, { failed: string }> {
  state = { failed: '' }

  static getDerivedStateFromError(error: unknown) {
    return { failed: String(error) }
  }

  componentDidCatch() {
    showStatic(true)
  }

  render({ id, title, children }: GuardProps, { failed }: { failed: string }) {
    if (!failed) return children
    return (
      <Panel id={id} title={title}>
        <p role="alert">
          This panel cannot be shown, because its data are damaged: {cut(failed, 200)}
        </p>
      </Panel>
    )
  }
}

/** The part of the page that needs no JavaScript. */
export function showStatic(isShown: boolean): void {
  document.getElementById('static')!.hidden = !isShown
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** What a limit left out. */
export function LeftOut({ text }: { text: string }) {
  return text ? <p class="left-out">Left out: <Text text={text} /></p> : null
}

interface CappedProps<Item> {
  items: Item[]
  limit: number
  noun: string
  render: (items: Item[]) => ComponentChildren
}

/** The first `limit` items, with a button for the rest. */
export function Capped<Item>({ items, limit, noun, render }: CappedProps<Item>) {
  const [all, setAll] = useState(false)
  const shown = all ? items : items.slice(0, limit)
  return (
    <>
      {render(shown)}
      {shown.length < items.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          show all {count(items.length, noun)}
        </button>
      )}
    </>
  )
}

interface ChoiceProps {
  label: string
  options: string[]
  value: number
  onChange: (value: number) => void
}

/** One of a few options, as radio buttons side by side. */
export function Choice({ label, options, value, onChange }: ChoiceProps) {
  const name = useId()
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option, index) => (
        <label class={index === value ? 'chosen' : ''}>
          <input
            type="radio"
            name={name}
            checked={index === value}
            onChange={() => onChange(index)}
          />
          {option}
        </label>
      ))}
    </fieldset>
  )
}

export interface TipContent {
  x: number
  y: number
  lines: string[]
}

/** A tooltip at the pointer. Screen readers get the same text from the panel's live line. */
export function Tip({ tip }: { tip: TipContent | null }) {
  if (!tip) return null
  const right = tip.x > window.innerWidth / 2
  const below = tip.y < window.innerHeight / 2
  const style = {
    [right ? 'right' : 'left']: `${right ? window.innerWidth - tip.x + 10 : tip.x + 14}px`,
    [below ? 'top' : 'bottom']: `${below ? tip.y + 14 : window.innerHeight - tip.y + 10}px`,
  }
  return (
    <div class="tip" style={style} aria-hidden="true">
      {tip.lines.map((line, index) => (
        <div class={index === 0 ? 'tip-head' : ''}><bdi dir="ltr">{cut(line, 240)}</bdi></div>
      ))}
    </div>
  )
}
