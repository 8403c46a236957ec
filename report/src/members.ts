// The members of a communicator as rows of the matrix: one row a class, or one row a rank.
import type { Communicator, MemberClass, Run } from './data'
import { rankText } from './text'

/** Neighbouring rows that look the same. */
export interface Block {
  first: number
  count: number
  member: MemberClass
}

export interface Rows {
  count: number
  label: (row: number) => string
  note: (row: number) => string // at the right of the label
  block: (row: number) => Block
  firstCulprit: number // the first row if there is none
}

/** How many, if the ranks do not show it; "≈" if not all of them did the same. */
function noteOf({ ranks, mixed }: MemberClass): string {
  const many = ranks.count > 2 ? `×${ranks.count.toLocaleString('en-US')}` : ''
  return mixed ? `≈ ${many}` : many
}

export function rowsByClass({ classes }: Communicator): Rows {
  const order = [...classes].sort((a, b) => Number(b.culprit) - Number(a.culprit))
  return {
    count: order.length,
    label: (row) => rankText(order[row].ranks, 20),
    note: (row) => noteOf(order[row]),
    block: (row) => ({ first: row, count: 1, member: order[row] }),
    firstCulprit: 0,
  }
}

/** The index of the last start that is not behind `value`. */
function lastAtMost(starts: number[], value: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle] <= value) low = middle
    else high = middle - 1
  }
  return low
}

/** Where each of the runs begins that have these lengths. */
function startsOf(lengths: number[]): number[] {
  let sum = 0
  return lengths.map((length) => (sum += length) - length)
}

const evenItems = (pairs: number[]) => pairs.filter((_, index) => index % 2 === 0)
const oddItems = (pairs: number[]) => pairs.filter((_, index) => index % 2 === 1)

/** From the number of a member in the communicator to its world rank. */
export function worldRanks({ ranks }: Communicator): (local: number) => number {
  const firsts = evenItems(ranks)
  const starts = startsOf(oddItems(ranks))
  return (local) => {
    const run = lastAtMost(starts, local)
    return firsts[run] + local - starts[run]
  }
}

export function rowsByRank(communicator: Communicator): Rows {
  const counts = evenItems(communicator.members)
  const classes = oddItems(communicator.members)
  const starts = startsOf(counts)
  const world = worldRanks(communicator)
  const culprit = classes.findIndex((index) => communicator.classes[index].culprit)
  return {
    count: counts.reduce((sum, length) => sum + length, 0),
    label: (row) => `rank ${world(row)}`,
    note: () => '',
    block: (row) => {
      const run = lastAtMost(starts, row)
      const member = communicator.classes[classes[run]]
      return { first: starts[run], count: counts[run], member }
    },
    firstCulprit: culprit < 0 ? 0 : starts[culprit],
  }
}

/** The run that a sequence number is in. */
export function runAt(runs: Run[], sequence: number): Run | null {
  let [low, high] = [0, runs.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const [first, length] = runs[middle]
    if (sequence < first) high = middle - 1
    else if (sequence >= first + length) low = middle + 1
    else return runs[middle]
  }
  return null
}
