// Places the nodes of the wait-for graph in layers from left to right: who waits is left of what it
// waits for. The nodes of a cycle lie on both sides of it, by their distance from its first node.
import type { GraphEdge, GraphNode } from './data'
import { cut } from './text'

export interface Placed {
  node: GraphNode
  lines: string[]
  x: number // of the centre
  y: number
  width: number
  height: number
}

export interface Layout {
  placed: Map<number, Placed>
  width: number
  height: number
}

const CHARACTER = 7.1
const LINE = 17
const COLUMN_GAP = 64
const ROW_GAP = 26
const MARGIN = 16
const LONGEST_LINE = 44
export const LONGEST_LABEL = 30

type Links = Map<number, number[]>

function linksOf(nodes: GraphNode[], edges: GraphEdge[]): { next: Links; previous: Links } {
  const next: Links = new Map(nodes.map(({ id }) => [id, []]))
  const previous: Links = new Map(nodes.map(({ id }) => [id, []]))
  for (const { from, to } of edges) {
    if (!next.has(from) || !next.has(to)) continue
    next.get(from)!.push(to)
    previous.get(to)!.push(from)
  }
  return { next, previous }
}

/** The nodes in the order in which a depth-first walk leaves them. */
function postorder(starts: number[], links: Links): number[] {
  const seen = new Set<number>()
  const order: number[] = []
  for (const start of starts) {
    if (seen.has(start)) continue
    seen.add(start)
    const path: [id: number, at: number][] = [[start, 0]]
    while (path.length > 0) {
      const top = path[path.length - 1]
      const target = links.get(top[0])![top[1]++]
      if (target === undefined) {
        order.push(top[0])
        path.pop()
      } else if (!seen.has(target)) {
        seen.add(target)
        path.push([target, 0])
      }
    }
  }
  return order
}

/** Kosaraju's algorithm: the strongly connected components, waiting ones first. */
function components(nodes: GraphNode[], next: Links, previous: Links): number[][] {
  const order = postorder(nodes.map(({ id }) => id), next).reverse()
  const seen = new Set<number>()
  const found: number[][] = []
  for (const start of order) {
    if (seen.has(start)) continue
    const component = [start]
    seen.add(start)
    for (const id of component) {
      for (const source of previous.get(id)!) {
        if (!seen.has(source)) component.push(source)
        seen.add(source)
      }
    }
    found.push(component)
  }
  return found
}

/** Distances from the first node of a component, whatever the direction of the edges. */
function depths(component: number[], next: Links, previous: Links): Map<number, number> {
  const inside = new Set(component)
  const depth = new Map([[component[0], 0]])
  for (const [id, distance] of depth) {
    for (const other of [...next.get(id)!, ...previous.get(id)!]) {
      if (inside.has(other) && !depth.has(other)) depth.set(other, distance + 1)
    }
  }
  return depth
}

function layersOf(nodes: GraphNode[], next: Links, previous: Links): Map<number, number> {
  const layer = new Map<number, number>()
  for (const component of components(nodes, next, previous)) {
    const inside = new Set(component)
    let base = 0
    for (const id of component) {
      for (const source of previous.get(id)!) {
        if (!inside.has(source)) base = Math.max(base, (layer.get(source) ?? 0) + 1)
      }
    }
    for (const [id, depth] of depths(component, next, previous)) layer.set(id, base + depth)
  }
  return layer
}

function sizeOf(node: GraphNode): { lines: string[]; width: number; height: number } {
  const marks = [node.culprit && 'culprit', node.cycle && 'in a cycle'].filter(Boolean).join(', ')
  const lines = node.lines.map((line) => cut(line, LONGEST_LINE))
  if (marks) lines.push(`▸ ${marks}`)
  const longest = Math.max(6, ...lines.map(({ length }) => length))
  const round = node.kind === 'collective' ? 1.25 : 1
  return {
    lines,
    width: (longest * CHARACTER + 22) * round,
    height: (lines.length * LINE + 14) * round,
  }
}

const average = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Orders a layer by the places of the neighbours, which keeps edges from crossing. */
function orderByNeighbours(layer: Placed[], links: Links, placed: Map<number, Placed>) {
  const wish = new Map(layer.map((item) => {
    const neighbours = links.get(item.node.id)!.map((id) => placed.get(id)!.y)
    return [item, neighbours.length > 0 ? average(neighbours) : item.y]
  }))
  layer.sort((a, b) => wish.get(a)! - wish.get(b)!)
}

function stack(layer: Placed[]) {
  const height = layer.reduce((sum, item) => sum + item.height + ROW_GAP, -ROW_GAP)
  let y = -height / 2
  for (const item of layer) {
    item.y = y + item.height / 2
    y += item.height + ROW_GAP
  }
}

export function layOut(nodes: GraphNode[], edges: GraphEdge[]): Layout {
  const { next, previous } = linksOf(nodes, edges)
  const layerOf = layersOf(nodes, next, previous)
  const placed = new Map<number, Placed>()
  const layers: Placed[][] = []
  for (const node of nodes) {
    const item = { node, ...sizeOf(node), x: 0, y: 0 }
    placed.set(node.id, item)
    const layer = (layers[layerOf.get(node.id)!] ??= [])
    layer.push(item)
  }
  for (let index = 0; index < layers.length; index++) layers[index] ??= []
  layers.forEach(stack)
  for (let round = 0; round < 2; round++) {
    for (const layer of layers) orderByNeighbours(layer, previous, placed), stack(layer)
    for (const layer of [...layers].reverse()) orderByNeighbours(layer, next, placed), stack(layer)
  }
  const label = Math.max(0, ...edges.map(({ label }) => Math.min(label.length, LONGEST_LABEL)))
  const gap = COLUMN_GAP + label * CHARACTER
  let x = MARGIN
  for (const layer of layers) {
    const width = Math.max(0, ...layer.map((item) => item.width))
    for (const item of layer) item.x = x + width / 2
    x += width + gap
  }
  const all = [...placed.values()]
  const top = Math.min(...all.map((item) => item.y - item.height / 2)) - MARGIN
  for (const item of all) item.y -= top
  const height = Math.max(...all.map((item) => item.y + item.height / 2)) + MARGIN
  return { placed, width: x - gap + MARGIN, height }
}

export interface Route {
  edge: GraphEdge
  path: string
  labelX: number
  labelY: number
}

/** Where an edge meets the side of a node. */
interface Port {
  placed: Placed
  other: Placed
  side: 1 | -1 // right, left
  isSource: boolean
  shift: number // from the centre of the side, downwards
}

const PORT_GAP = 16

function portOf(placed: Placed, other: Placed, side: 1 | -1, isSource: boolean): Port {
  return { placed, other, side, isSource, shift: 0 }
}

/** Of edges between the same two nodes, those to the right are above those to the left. */
function byOtherEnd(a: Port, b: Port): number {
  const rightward = ({ side, isSource }: Port) => Number((side === 1) === isSource)
  return a.other.y - b.other.y || rightward(b) - rightward(a)
}

/** Spreads the edges that meet one side of a node, so that they do not cross there. */
function spread(ports: Port[]): void {
  const sides = new Map<string, Port[]>()
  for (const port of ports) {
    const key = `${port.placed.node.id} ${port.side}`
    sides.set(key, [...(sides.get(key) ?? []), port])
  }
  for (const side of sides.values()) {
    const room = side[0].placed.height - 14
    const gap = Math.min(PORT_GAP, room / side.length)
    side.sort(byOtherEnd).forEach((port, index) => {
      port.shift = (index - (side.length - 1) / 2) * gap
    })
  }
}

/** Curves from the side of one node to the facing side of the other. */
export function routesOf(placed: Map<number, Placed>, edges: GraphEdge[]): Route[] {
  const routes: Route[] = []
  const ports: Port[] = []
  const curves: [edge: GraphEdge, from: Port, to: Port][] = []
  for (const edge of edges) {
    const [from, to] = [placed.get(edge.from), placed.get(edge.to)]
    if (!from || !to) continue
    if (from === to) routes.push({ edge, ...loopAt(from) })
    else if (Math.abs(from.x - to.x) < 1) routes.push({ edge, ...vertical(from, to) })
    else {
      const isRightward = from.x < to.x
      const source = portOf(from, to, isRightward ? 1 : -1, true)
      const target = portOf(to, from, isRightward ? -1 : 1, false)
      ports.push(source, target)
      curves.push([edge, source, target])
    }
  }
  spread(ports)
  return [...routes, ...curves.map(([edge, from, to]) => ({ edge, ...curve(from, to) }))]
}

/** The side of an ellipse is further inside above and below its centre. */
function portX({ placed, side, shift }: Port): number {
  const inset = placed.node.kind === 'collective'
    ? 1 - Math.sqrt(1 - Math.min(1, (2 * shift) / placed.height) ** 2)
    : 0
  return placed.x + (side * placed.width * (1 - inset)) / 2
}

function curve(from: Port, to: Port): Omit<Route, 'edge'> {
  const [x1, y1] = [portX(from), from.placed.y + from.shift]
  const [x2, y2] = [portX(to) + to.side * 3, to.placed.y + to.shift]
  const bend = Math.max(30, Math.abs(x2 - x1) / 2) * from.side
  return {
    path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    labelX: (x1 + x2) / 2,
    labelY: (y1 + y2) / 2,
  }
}

function vertical(from: Placed, to: Placed): Omit<Route, 'edge'> {
  const direction = from.y < to.y ? 1 : -1
  const x = from.x + direction * 8
  const y1 = from.y + (direction * from.height) / 2
  const y2 = to.y - direction * (to.height / 2 + 3)
  return { path: `M${x} ${y1}L${x} ${y2}`, labelX: x, labelY: (y1 + y2) / 2 }
}

function loopAt({ x, y, width, height }: Placed): Omit<Route, 'edge'> {
  const [right, top] = [x + width / 2, y - height / 2]
  return {
    path: `M${right} ${y - 4}C${right + 40} ${y - 4} ${x + 10} ${top - 40} ${x + 4} ${top - 3}`,
    labelX: right + 16,
    labelY: top - 8,
  }
}
