// What a cell of the matrix says in words.
import { State, type Arrival, type Call, type Communicator, type MemberClass } from './data'
import { runAt } from './members'
import { cut, duration, moment, rankText } from './text'

export const STATE_WORDS: Record<State, string> = {
  [State.Done]: 'called it and returned',
  [State.Inside]: 'is inside the call',
  [State.NotThere]: 'has not called it',
  [State.Overwritten]: 'the record is overwritten',
  [State.NoTrace]: 'no trace of the rank',
}

export function callText(call: Call): string {
  return call.text || call.operation || '(unknown call)'
}

export function placeText({ place, function: name }: Call): string {
  return [place, name && `in ${name}`].filter(Boolean).join(' ')
}

/** First and last arrival, and how far apart they are. */
export function arrivalText([, first, last, rank]: Arrival): string {
  const [from, to] = [moment(first, last - first), moment(last, last - first)]
  return `first arrival at ${from}, last at ${to} (rank ${rank}): ${duration(last - first)} apart`
}

export function findArrival(arrivals: Arrival[], sequence: number): Arrival | undefined {
  return arrivals.find(([number]) => number === sequence)
}

export interface Cell {
  communicator: Communicator
  member: MemberClass
  who: string
  sequence: number
}

export function whoText(member: MemberClass): string {
  const members = member.ranks.count > 1 ? ` (${member.ranks.count.toLocaleString('en-US')})` : ''
  return rankText(member.ranks) + members
}

/** One line for each thing to know about a cell; the first names it. */
export function cellLines(cell: Cell, calls: Call[]): string[] {
  const { communicator, member, sequence } = cell
  const run = runAt(member.runs, sequence)
  const state = run ? run[2] : State.NoTrace
  const call = run && run[3] !== null ? calls[run[3]] : null
  const culprit = member.culprit ? ', culprit' : ''
  const lines = [`${cell.who}${culprit}, #${sequence}: ${STATE_WORDS[state]}`]
  if (call) lines.push(cut(callText(call), 200))
  if (call && placeText(call)) lines.push(cut(placeText(call), 200))
  if (member.mixed) lines.push('These ranks did not all do the same; the calls of one are shown.')
  if (sequence === communicator.marked) lines.push('The verdict is about this number.')
  const arrival = findArrival(communicator.arrivals, sequence)
  if (arrival) lines.push(arrivalText(arrival))
  return lines
}
