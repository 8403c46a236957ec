// Text that comes from the job, made safe to show, and numbers in words.
import type { Ranks } from './data'

// Control, format (bidi among them) and unpaired surrogate characters: they change how the text
// around them looks, or look like nothing.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

function symbolFor(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/** `text` with a visible symbol for each character that would be hidden. */
export function visible(text: string): string {
  return text.replace(HIDDEN, symbolFor)
}

/** Makes all text in `value`, which came from JSON, visible, in place. */
export function makeVisible(value: unknown): unknown {
  if (typeof value === 'string') return visible(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value) && typeof value[0] === 'number') return value
  const record = value as Record<string, unknown>
  for (const key in record) {
    const part = record[key]
    if (typeof part === 'string' || typeof part === 'object') record[key] = makeVisible(part)
  }
  return value
}

/** At most `length` characters of `text`. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = text.charCodeAt(length - 2) >> 10 === 0x36 ? length - 2 : length - 1
  return text.slice(0, end) + '…'
}

export function count(number: number, noun: string, plural = noun + 's'): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? noun : plural}`
}

export function rankText(ranks: Ranks, length = 60): string {
  if (ranks.count === 0) return 'no rank'
  return `${ranks.count === 1 ? 'rank' : 'ranks'} ${cut(ranks.text, length)}`
}

const UNITS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]

/** "1.20 ms"; three significant digits are all that such a time is good for. */
export function duration(ns: number): string {
  if (ns < 0) return '−' + duration(-ns)
  if (ns >= 120e9) return `${Math.floor(ns / 60e9)} min ${Math.round((ns % 60e9) / 1e9)} s`
  const [size, unit] = UNITS.find(([size]) => ns >= size) ?? [1, 'ns']
  const value = ns / size
  const digits = unit === 'ns' || value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`
}

/** A moment after the beginning, with the digits that tell moments within `span` apart. */
export function moment(ns: number, span: number): string {
  const digits = Math.min(9, Math.max(1, Math.ceil(Math.log10(1e12 / Math.max(span, 1)))))
  return `${(ns / 1e9).toFixed(digits)} s`
}
