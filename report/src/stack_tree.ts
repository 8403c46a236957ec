// Places the frames of a tree of stacks side by side: the width is the number of ranks. Main threads
// come first.
import type { StackNode } from './data'

export interface Box {
  node: StackNode
  index: number
  parent: number // index; -1: none
  depth: number
  start: number // in ranks, from the left
  weight: number
}

/** A rank with several threads is in several callees, which may be more than the caller's ranks. */
function weigh(node: StackNode, weights: Map<StackNode, number>): number {
  let sum = 0
  for (const callee of node.callees) sum += weigh(callee, weights)
  const weight = Math.max(node.ranks.count, sum, 1)
  weights.set(node, weight)
  return weight
}

export function boxesOf(root: StackNode): Box[] {
  const weights = new Map<StackNode, number>()
  weigh(root, weights)
  const boxes: Box[] = []
  const visit = (node: StackNode, parent: number, depth: number, start: number) => {
    const index = boxes.length
    boxes.push({ node, index, parent, depth, start, weight: weights.get(node)! })
    const callees = [...node.callees].sort((a, b) =>
      Number(a.thread !== '') - Number(b.thread !== '') || weights.get(b)! - weights.get(a)!)
    for (const callee of callees) {
      visit(callee, index, depth + 1, start)
      start += weights.get(callee)!
    }
  }
  visit(root, -1, 0, 0)
  return boxes
}

export function matches({ function: name, place }: StackNode, wanted: string): boolean {
  return name.toLowerCase().includes(wanted) || place.toLowerCase().includes(wanted)
}

/** Ranks with a frame that matches: in the main thread, and in other threads. */
export function countMatches(root: StackNode, wanted: string): { main: number; others: number } {
  const sum = { main: 0, others: 0 }
  const visit = (node: StackNode) => {
    if (!matches(node, wanted)) node.callees.forEach(visit)
    else if (node.thread) sum.others += node.ranks.count
    else sum.main += node.ranks.count
  }
  visit(root)
  return sum
}
