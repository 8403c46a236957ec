// The parts of the page that need no browser.
import assert from 'node:assert/strict'
import test from 'node:test'
import { importSource } from './sources.mjs'

const text = await importSource('text.ts')
const members = await importSource('members.ts')
const layout = await importSource('graph_layout.ts')
const tree = await importSource('stack_tree.ts')
const palette = await importSource('palette.ts')

test('hidden characters become visible', () => {
  assert.equal(text.visible('a\u001b[31m\u007f'), 'a␛[31m␡')
  assert.equal(text.visible('\u202egnp\u2066\u200b\ufeff'), '⟨U+202E⟩gnp⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩')
  assert.equal(text.visible('\ud800'), '⟨U+D800⟩')
  assert.equal(text.visible('ä\t\n×😀'), 'ä\t\n×😀')
  assert.deepEqual(text.makeVisible({ a: ['\u0000', null, [1, 2]] }), { a: ['␀', null, [1, 2]] })
})

test('text is cut between characters', () => {
  assert.equal(text.cut('abc', 3), 'abc')
  assert.equal(text.cut('abcd', 3), 'ab…')
  assert.equal(text.cut('a😀bc', 3), 'a…')
})

test('durations have three digits', () => {
  const shown = [0, 350, 1_500, 12_400_000, 999e6, 1.2e9, 95e9, 240e9].map(text.duration)
  assert.deepEqual(shown,
    ['0 ns', '350 ns', '1.50 µs', '12.4 ms', '999 ms', '1.20 s', '95.0 s', '4 min 0 s'])
})

const communicator = {
  classes: [
    { ranks: { text: '4-5', count: 2 }, culprit: false, mixed: false, runs: [] },
    { ranks: { text: '8', count: 1 }, culprit: true, mixed: false, runs: [] },
  ],
  members: [1, 0, 1, 1, 1, 0],
  ranks: [4, 1, 8, 1, 5, 1],
}

test('rows by rank are in the order of the communicator', () => {
  const rows = members.rowsByRank(communicator)
  assert.equal(rows.count, 3)
  assert.deepEqual([0, 1, 2].map(rows.label), ['rank 4', 'rank 8', 'rank 5'])
  assert.equal(rows.firstCulprit, 1)
  assert.equal(rows.block(2).member, communicator.classes[0])
})

test('rows by class begin with the culprits', () => {
  const rows = members.rowsByClass(communicator)
  assert.deepEqual([0, 1].map(rows.label), ['rank 8', 'ranks 4-5'])
})

test('a sequence number is found in its run', () => {
  const runs = [[5, 1, 0, 0], [6, 3, 1, 1], [9, 1, 2, null]]
  const found = [4, 5, 6, 8, 9, 10].map((number) => runs.indexOf(members.runAt(runs, number)))
  assert.deepEqual(found, [-1, 0, 1, 1, 2, -1])
})

const nodeOf = (id) => ({ id, kind: 'ranks', lines: [`rank ${id}`], ranks: null, culprit: false })
const edge = (from, to) => ({ from, to, label: '', cycle: false })

test('who waits is left of what it waits for', () => {
  const { placed } = layout.layOut([0, 1, 2].map(nodeOf), [edge(2, 1), edge(1, 0)])
  assert.ok(placed.get(2).x < placed.get(1).x && placed.get(1).x < placed.get(0).x)
})

test('a ring lies on two sides, and all its edges have routes', () => {
  const edges = [0, 1, 2, 3].map((id) => edge(id, (id + 1) % 4))
  const { placed, width, height } = layout.layOut([0, 1, 2, 3].map(nodeOf), edges)
  assert.equal(new Set([...placed.values()].map(({ x }) => x)).size, 3)
  for (const { x, y } of placed.values()) assert.ok(x > 0 && x < width && y > 0 && y < height)
  assert.equal(layout.routesOf(placed, [...edges, edge(1, 1)]).length, 5)
})

test('an edge to an unknown node is left out', () => {
  const { placed } = layout.layOut([nodeOf(0)], [edge(0, 7)])
  assert.equal(layout.routesOf(placed, [edge(0, 7)]).length, 0)
})

const stack = (name, count, callees = [], thread = '') =>
  ({ function: name, place: '', user: true, ranks: { text: '', count }, thread, callees })

test('callees lie within their caller, even if a rank is in several', () => {
  const boxes = tree.boxesOf(stack('', 2, [stack('a', 2), stack('b', 2, [], 'io')]))
  assert.deepEqual(boxes.map(({ start, weight }) => [start, weight]), [[0, 4], [0, 2], [2, 2]])
})

test('ranks of matching frames are counted once', () => {
  const root = stack('', 5, [stack('solve', 3, [stack('solve', 3)]), stack('x', 2, [], 'solve')])
  assert.deepEqual(tree.countMatches(root, 'solve'), { main: 3, others: 0 })
  assert.deepEqual(tree.countMatches(root, 'x'), { main: 0, others: 2 })
})

test('calls of an operation share a colour and differ in their letters', () => {
  const operations = ['a', 'b', 'a', ...Array.from({ length: 30 }, (_, index) => `o${index}`)]
  const looks = palette.makePalette(operations.map((operation) => ({ operation })))
  assert.equal(looks[0].colour, looks[2].colour)
  assert.equal(new Set(looks.map(({ letters }) => letters)).size, looks.length)
  assert.equal(looks[26].letters, 'AA')
})
