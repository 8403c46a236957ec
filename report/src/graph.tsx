// Who waits for whom, as a graph and as a list.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { GraphNode, Report } from './data'
import { layOut, LONGEST_LABEL, routesOf, type Placed, type Route } from './graph_layout'
import { count, cut } from './text'
import { Empty, LeftOut, Panel, Text } from './widgets'

type Graph = Report['graph']

const KINDS: Record<GraphNode['kind'], string> = {
  ranks: '',
  collective: 'collective: ',
  device: 'device: ',
  absent: 'absent: ',
}

function nameOf(node: GraphNode | undefined): string {
  return node ? cut(node.lines.join(', '), 200) : '(unknown)'
}

function marksOf(node: GraphNode): string {
  const marks = [
    node.culprit && 'culprit',
    node.stuck && 'cannot continue',
    node.cycle && 'in a cycle of waits',
  ].filter(Boolean)
  return marks.length > 0 ? ` (${marks.join(', ')})` : ''
}

interface Named {
  graph: Graph
  byId: Map<number, GraphNode>
}

function waitsOf({ graph, byId }: Named, node: GraphNode): string[] {
  return graph.edges
    .filter(({ from }) => from === node.id)
    .map(({ to, label }) => nameOf(byId.get(to)) + (label && ` (${cut(label, 120)})`))
}

function describe(named: Named, node: GraphNode): string {
  const waits = waitsOf(named, node)
  const rest = waits.length > 0 ? `; waits for ${waits.join('; ')}` : ''
  return KINDS[node.kind] + nameOf(node) + marksOf(node) + rest
}

function Shape({ placed }: { placed: Placed }) {
  const { node, x, y, width, height } = placed
  if (node.kind === 'collective') return <ellipse cx={x} cy={y} rx={width / 2} ry={height / 2} />
  const [left, top] = [x - width / 2, y - height / 2]
  const radius = node.kind === 'device' ? 12 : 3
  return <rect x={left} y={top} width={width} height={height} rx={radius} />
}

function Node({ placed, label, onActive }: {
  placed: Placed
  label: string
  onActive: (id: number | null) => void
}) {
  const { node, lines, x, y } = placed
  const names = ['node', node.kind, node.culprit && 'culprit', node.cycle && 'cycle']
  const first = y - (lines.length - 1) * 8.5
  return (
    <g
      class={names.filter(Boolean).join(' ')}
      tabindex={0}
      role="img"
      aria-label={label}
      onFocus={() => onActive(node.id)}
      onBlur={() => onActive(null)}
      onPointerEnter={() => onActive(node.id)}
      onPointerLeave={() => onActive(null)}
    >
      <Shape placed={placed} />
      {lines.map((line, index) => (
        <text
          class={line.startsWith('▸') ? 'mark' : index === 0 ? 'name' : ''}
          x={x}
          y={first + index * 17}
        >
          {line}
        </text>
      ))}
    </g>
  )
}

function Edge({ route, active }: { route: Route; active: boolean }) {
  const { edge, path, labelX, labelY } = route
  const names = ['edge', edge.cycle && 'cycle', active && 'active'].filter(Boolean).join(' ')
  return (
    <g class={names}>
      <path d={path} marker-end={edge.cycle ? 'url(#arrow-cycle)' : 'url(#arrow)'} />
      {edge.label && <text x={labelX} y={labelY}>{cut(edge.label, LONGEST_LABEL)}</text>}
    </g>
  )
}

function Arrow({ id }: { id: string }) {
  return (
    <marker
      id={id}
      viewBox="0 0 10 10"
      refX="8"
      refY="5"
      markerWidth="9"
      markerHeight="9"
      markerUnits="userSpaceOnUse"
      orient="auto"
    >
      <path d="M0 0L10 5L0 10z" />
    </marker>
  )
}

function Drawing({ graph, byId }: Named) {
  const layout = useMemo(() => layOut(graph.nodes, graph.edges), [graph])
  const routes = useMemo(() => routesOf(layout.placed, graph.edges), [layout])
  const [active, setActive] = useState<number | null>(null)
  const element = useRef<HTMLDivElement>(null)
  const { placed, width, height } = layout
  // A wide graph is shown from where the explanation is.
  useLayoutEffect(() => {
    const all = [...placed.values()]
    const main = all.find(({ node }) => node.culprit) ?? all.find(({ node }) => node.cycle)
    const box = element.current
    if (main && box) box.scrollLeft = main.x - box.clientWidth / 2
  }, [placed])
  return (
    <div class="wide graph" ref={element}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="Wait-for graph; an arrow goes from who waits to what it waits for"
      >
        <defs><Arrow id="arrow" /><Arrow id="arrow-cycle" /></defs>
        {routes.map((route) => (
          <Edge route={route} active={[route.edge.from, route.edge.to].includes(active!)} />
        ))}
        {[...placed.values()].map((item) => (
          <Node
            placed={item}
            label={describe({ graph, byId }, item.node)}
            onActive={setActive}
          />
        ))}
      </svg>
    </div>
  )
}

function List({ graph, byId }: Named) {
  return (
    <details class="graph-list">
      <summary>The graph as a list</summary>
      <ul>
        {graph.nodes.map((node) => (
          <li><Text text={describe({ graph, byId }, node)} limit={600} /></li>
        ))}
      </ul>
    </details>
  )
}

export function GraphPanel({ graph }: { graph: Graph }) {
  const byId = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph])
  const isEmpty = graph.nodes.length === 0
  return (
    <Panel
      id="waits"
      title="Who waits for whom"
      aside={isEmpty ? undefined : `${count(graph.nodes.length, 'node')}, an arrow: waits for`}
    >
      {isEmpty
        ? <Empty>No rank waits for another one.</Empty>
        : <><Drawing graph={graph} byId={byId} /><List graph={graph} byId={byId} /></>}
      <LeftOut text={graph.left_out} />
    </Panel>
  )
}
