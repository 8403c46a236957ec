// How calls look: the same in the matrix, the timeline and the legends. An operation has a colour
// (and a pattern if there are more operations than colours), a call has letters.
import type { Call } from './data'

export const COLOURS = 8
export const PATTERNS = 4

export interface Look {
  colour: number
  pattern: number
  letters: string
}

function lettersOf(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : lettersOf(Math.floor(index / 26) - 1) + last
}

export function makePalette(calls: Call[]): Look[] {
  const operations = new Map<string, number>()
  return calls.map((call, index) => {
    if (!operations.has(call.operation)) operations.set(call.operation, operations.size)
    const operation = operations.get(call.operation)!
    return {
      colour: operation % COLOURS,
      pattern: Math.floor(operation / COLOURS) % PATTERNS,
      letters: lettersOf(index),
    }
  })
}
