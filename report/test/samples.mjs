// Reports for the tests, as the exporter would write them.
const DONE = 0, INSIDE = 1, NOT_THERE = 2, OVERWRITTEN = 3, NO_TRACE = 4

/** Text of 1 MB, as a name of a function may be. */
export const LONG = 'n'.repeat(1 << 20)
export const MARKUP = '</script><script>alert(1)</script><img src=x onerror=alert(2)>'
export const BIDI = 'evil\u202egnp.exe\u2066\u200b\ufeff'
export const ANSI = '\u001b[31mred\u001b[0m\u0007\u0000\u007f\u009b31m'

const ranks = (text, count) => ({ text, count })
const call = (operation, args, place, name) => ({
  operation,
  text: args ? `${operation}  (${args})` : operation,
  place,
  function: name,
})
const frame = (name, place, user = true) => ({ function: name, place, user })
const node = (name, place, user, of, callees = [], thread = '') =>
  ({ function: name, place, user, ranks: of, thread, callees })

const PAGE = `# rank-conditional-collective

A collective is under a condition that **differs** between ranks: *some* make the call.

## How it looks in code

\`\`\`c
if (rank != 0) {
  MPI_Barrier(comm);
}
\`\`\`

## What decides

- The ranks have different calls at the same sequence number
  of one communicator (\`#58\`).
- The two call paths diverge.

1. One call is new.
2. The first one in the function.

| a thread | counts as |
|---|---|
| has called MPI | outside every call |
| joins a \`thread\` | able to act |
`

function emptyReport() {
  return {
    format: 'rollcall-report',
    version: 1,
    rollcall: '0.1.0',
    status: 'finished',
    ranks: 4,
    ranks_expected: 4,
    hosts: 1,
    no_progress_ns: null,
    taken_at: '2026-03-14T09:26:53Z',
    begin_ns: 1_700_000_000_000_000_000,
    findings: [],
    notes: [],
    calls: [],
    communicators: [],
    graph: { nodes: [], edges: [], left_out: '' },
    stacks: { root: node('', '', false, ranks('', 0)), left_out: '' },
    timeline: { span: 0, classes: [], left_out: '' },
    stragglers: [],
    difference: null,
    looked_at: { hosts: [], missing: ranks('', 0), problems: [], sources: [], facts: [] },
    left_out: [],
  }
}

const CALLS = [
  call('MPI_Bcast', '8 × MPI_INT, root 0', 'solver.c:41', 'ReadInput'),
  call('MPI_Allreduce', '1 × MPI_DOUBLE, MPI_SUM', 'solver.c:88', 'Residual'),
  call('MPI_Barrier', '', 'solver.c:96', 'ExchangeHalo'),
  call('MPI_Allreduce', '1 × MPI_DOUBLE, MPI_SUM', 'solver.c:98', 'ExchangeHalo'),
  call('MPI_Isend', '4,096 × MPI_DOUBLE, to rank 1, tag 7', 'halo.c:30', 'SendHalo'),
  call('MPI_Waitall', '4 requests', 'halo.c:52', 'FinishHalo'),
]

function memberClass(of, culprit, entered, runs) {
  return { ranks: of, culprit, mixed: false, entered, runs }
}

function graphNode(id, lines, of, more) {
  const kind = of ? 'ranks' : 'collective'
  return { id, kind, lines, ranks: of, culprit: false, stuck: false, cycle: false, ...more }
}

/** Allreduce and Barrier in turn after one Bcast, up to the number before the last. */
function regularRuns(last) {
  const runs = [[1, 1, DONE, 0]]
  for (let sequence = 2; sequence < last; sequence++) {
    runs.push([sequence, 1, DONE, sequence % 2 ? 2 : 1])
  }
  return runs
}

function arrivalsUpTo(last, late) {
  return Array.from({ length: last - 1 }, (_, index) => {
    const first = 20e6 + index * 30e6
    const spread = ((index * 7919) % 13) * 0.2e6 + (index % 9 === 4 ? 9e6 : 0.1e6)
    return [index + 1, first, first + spread, (index * 3) % late]
  })
}

function site(role, of, state, text, place, name, lines, marked) {
  return {
    ranks: of,
    role,
    state,
    call: text,
    place,
    function: name,
    source: lines.map(([number, source]) => ({ number, text: source, marked: number === marked })),
    stack: [
      frame('PMPI_Barrier', 'libmpi.so', false),
      frame(name, place),
      frame('Step', 'solver.c:140'),
      frame('main', 'main.c:77'),
      frame('__libc_start_main', 'libc.so.6', false),
    ],
  }
}

const SOURCE = [
  [94, '  /* The halo of this rank is complete. */'],
  [95, '  if (!skip) {'],
  [96, '    MPI_Barrier(MPI_COMM_WORLD);'],
  [97, '  }'],
  [98, '  MPI_Allreduce(&residual, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);'],
  [99, '  return total;'],
]

function findingOf(culprits, waiting) {
  const title = `rank ${culprits.text} skipped MPI_Barrier #57 on MPI_COMM_WORLD; ` +
    `ranks ${waiting.text} wait in it`
  return {
    kind: 'rank-conditional-collective',
    certainty: 'proven',
    kind_certainty: 'likely',
    weight: 'fails',
    hangs: true,
    culprits,
    waiting,
    communicator: 'MPI_COMM_WORLD',
    operation: 'MPI_Barrier',
    sequence: 57,
    title,
    why: 'both calls come from ExchangeHalo() by the same call path and diverge there, at lines ' +
      '96 and 98',
    fix: 'call MPI_Barrier on every rank; keep only the side effect under the condition',
    values: ['skip is 1 on rank 0 and 0 on ranks 1-3 (solver.c:94)'],
    notes: ['rank 0 makes this call at other times: the condition depends on more than the rank'],
    sites: [
      site('waiting', waiting, 'waiting', 'MPI_Barrier #57', 'solver.c:96', 'ExchangeHalo',
        SOURCE.slice(0, 4), 96),
      site('culprit', culprits, 'went-on', 'MPI_Allreduce #57  (1 × MPI_DOUBLE, MPI_SUM)',
        'solver.c:98', 'ExchangeHalo', SOURCE.slice(3), 98),
    ],
    page: PAGE,
  }
}

const NOTE = {
  ...findingOf(ranks('2', 1), ranks('', 0)),
  kind: 'request-leak',
  certainty: 'suspected',
  kind_certainty: 'suspected',
  weight: 'note',
  hangs: false,
  title: 'rank 2 never completed 3 requests of MPI_Isend',
  why: '',
  notes: [],
  sites: [],
}

function spansOf(offset, openCall) {
  const spans = []
  for (let index = 0; index < 56; index++) {
    const start = 20e6 + index * 30e6 + offset
    spans.push([start, 4e6 + ((index * 31) % 11) * 1e6, index ? (index % 2 ? 1 : 2) : 0])
    if (index % 4 === 1) spans.push([start + 18e6, 2e6, 4], [start + 21e6, 5e6, 5])
  }
  return [...spans, [1.71e9 + offset, null, openCall]]
}

/** Four ranks; rank 0 skips a barrier. */
export function hang() {
  const report = emptyReport()
  const [zero, others, all] = [ranks('0', 1), ranks('1-3', 3), ranks('0-3', 4)]
  const runs = regularRuns(57)
  report.status = 'hung'
  report.no_progress_ns = 4.2e8
  report.calls = CALLS
  report.findings = [findingOf(zero, others), NOTE]
  report.notes = ['the trace of rank 3 ends 12 ms before the others']
  report.communicators = [
    {
      name: 'MPI_COMM_WORLD',
      size: 4,
      highest: 57,
      first: 1,
      last: 57,
      marked: 57,
      classes: [
        memberClass(others, false, 57, [...runs, [57, 1, INSIDE, 2]]),
        memberClass(zero, true, 57, [...runs, [57, 1, INSIDE, 3]]),
      ],
      members: [1, 1, 3, 0],
      ranks: [0, 4],
      arrivals: arrivalsUpTo(57, 4),
    },
    {
      name: 'rows (MPI_Comm_split, color 1)',
      size: 2,
      highest: 12,
      first: 1,
      last: 12,
      marked: null,
      classes: [memberClass(ranks('1,3', 2), false, 12, [[1, 12, DONE, 1]])],
      members: [2, 0],
      ranks: [1, 1, 3, 1],
      arrivals: [],
    },
  ]
  report.graph = {
    nodes: [
      graphNode(1, ['ranks 1-3', 'solver.c:96'], others, { stuck: true }),
      graphNode(2, ['MPI_Barrier #57', 'MPI_COMM_WORLD'], null, { cycle: true }),
      graphNode(3, ['rank 0', 'solver.c:98'], zero, { culprit: true, stuck: true, cycle: true }),
      graphNode(4, ['MPI_Allreduce #57', 'MPI_COMM_WORLD'], null, { cycle: true }),
      graphNode(5, ['ranks 1-3', 'not there'], others, { kind: 'absent', cycle: true }),
    ],
    edges: [
      { from: 1, to: 2, label: '', cycle: false },
      { from: 2, to: 3, label: 'has not called it', cycle: true },
      { from: 3, to: 4, label: '', cycle: true },
      { from: 4, to: 5, label: 'have not called it', cycle: true },
      { from: 5, to: 2, label: '', cycle: true },
    ],
    left_out: '',
  }
  report.stacks = {
    root: node('', '', false, all, [
      node('__libc_start_main', 'libc.so.6', false, all, [
        node('main', 'main.c:77', true, all, [
          node('Step', 'solver.c:140', true, all, [
            node('ExchangeHalo', 'solver.c:96', true, others, [
              node('PMPI_Barrier', 'libmpi.so', false, others),
            ]),
            node('ExchangeHalo', 'solver.c:98', true, zero, [
              node('PMPI_Allreduce', 'libmpi.so', false, zero),
            ]),
          ]),
        ]),
      ]),
      node('clone', 'libc.so.6', false, all, [
        node('WriteCheckpoints', 'checkpoint.c:12', true, all, [], 'checkpoint'),
      ], 'checkpoint'),
    ]),
    left_out: '',
  }
  report.timeline = {
    span: 2e9,
    classes: [
      { ranks: others, shown: 1, culprit: false, spans: spansOf(0, 2) },
      { ranks: zero, shown: 0, culprit: true, spans: spansOf(2.5e6, 3) },
    ],
    left_out: 'calls before the last 2 s',
  }
  report.stragglers = [
    { rank: 2, host: 'node1', last: 31, of: 56, mean_late: 1.2e6, most_late: 11.6e6 },
    { rank: 0, host: 'node1', last: 12, of: 56, mean_late: 0.4e6, most_late: 2.1e6 },
  ]
  report.difference = {
    left: 'rank 1 on node1, pid 4712',
    right: 'rank 0 on node1, pid 4711',
    summary: 'the same 56 calls, then they differ',
    rows: [
      ...[52, 53, 54, 55, 56].map((number) => {
        const { text: name, place } = CALLS[number % 2 ? 2 : 1]
        const text = `#${number} ${name}  ${place}`
        return { left: text, right: text, same: true, first: false }
      }),
      {
        left: '#57 MPI_Barrier  solver.c:96',
        right: '#57 MPI_Allreduce  (1 × MPI_DOUBLE, MPI_SUM)  solver.c:98',
        same: false,
        first: true,
      },
      { left: 'inside the call', right: 'inside the call', same: true, first: false },
    ],
  }
  report.looked_at = {
    hosts: [{ name: 'node1', ranks: all, clock_offset_ms: 0 }],
    missing: ranks('', 0),
    problems: ['rank 3: the last record is incomplete'],
    sources: ['run-4711/'],
    facts: [
      ['rollcall', '0.1.0'],
      ['MPI', 'Open MPI 4.1.4'],
      ['program', 'solver'],
      ['launcher', 'mpirun -n 4'],
    ],
  }
  return report
}

/** A ring of six ranks, each of which receives before it sends. */
export function cycle() {
  const report = emptyReport()
  const all = ranks('0-5', 6)
  report.status = 'hung'
  report.ranks = report.ranks_expected = 6
  report.calls = [call('MPI_Recv', '1 × MPI_INT, from the left, tag 1', 'ring.c:17', 'main')]
  report.findings = [{
    ...findingOf(ranks('', 0), all),
    kind: 'p2p-deadlock',
    kind_certainty: 'proven',
    communicator: '',
    operation: 'MPI_Recv',
    sequence: null,
    title: 'ranks 0-5 wait for messages from each other, in a cycle',
    why: 'each of them waits for an action that only another of them can take',
    fix: 'reorder the calls, use MPI_Sendrecv, or make one side nonblocking',
    notes: [],
    sites: [
      site('waiting', all, 'waiting', 'MPI_Recv  (1 × MPI_INT)', 'ring.c:17', 'main', [
        [16, '#ifdef FAULT'],
        [17, '  MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);'],
        [18, '#endif'],
      ], 17),
    ],
  }]
  report.graph.nodes = Array.from({ length: 6 }, (_, id) => ({
    id,
    kind: 'ranks',
    lines: [`rank ${id}`, 'MPI_Recv, ring.c:17'],
    ranks: ranks(String(id), 1),
    culprit: false,
    stuck: true,
    cycle: true,
  }))
  report.graph.edges = Array.from({ length: 6 }, (_, id) =>
    ({ from: id, to: (id + 5) % 6, label: 'tag 1', cycle: true }))
  report.stacks.root = node('', '', false, all, [node('main', 'ring.c:17', true, all)])
  report.timeline = {
    span: 5e8,
    classes: [{ ranks: all, shown: 0, culprit: false, spans: [[1e8, null, 0]] }],
    left_out: '',
  }
  return report
}

const SIZE = 16384
const COLUMNS = 400

function bigCommunicator(classes, members) {
  return {
    name: 'MPI_COMM_WORLD',
    size: SIZE,
    highest: 9_000,
    first: 8_601,
    last: 9_000,
    marked: 8_990,
    classes,
    members,
    ranks: [0, SIZE],
    arrivals: Array.from({ length: COLUMNS }, (_, index) =>
      [8_601 + index, index * 1e6, index * 1e6 + ((index * 37) % 50) * 1e4, (index * 41) % SIZE]),
  }
}

function bigRuns(length, shift, calls, inside) {
  const runs = []
  for (let index = 0; index < length; index++) {
    runs.push([8_601 + index, 1, DONE, (index + shift) % calls])
  }
  runs.push([8_601 + length, 1, INSIDE, inside])
  const rest = COLUMNS - length - 1
  return rest > 0 ? [...runs, [8_601 + length + 1, rest, NOT_THERE, null]] : runs
}

function bigHosts() {
  return Array.from({ length: 256 }, (_, index) => ({
    name: `node${String(index).padStart(3, '0')}`,
    ranks: ranks(`${index * 64}-${index * 64 + 63}`, 64),
    clock_offset_ms: index % 5 ? (index % 7) / 100 : null,
  }))
}

const OPERATIONS = ['Allreduce', 'Bcast', 'Barrier', 'Reduce', 'Gather', 'Scan', 'Alltoall',
  'Scatter', 'Allgather', 'Ibarrier']

function bigSpans(shift) {
  const done = Array.from({ length: 300 }, (_, at) => [at * 1e6 + shift * 1e4, 7e5, (at + shift) % 40])
  return [...done, [3.2e8, null, 2]]
}

function bigStack(index) {
  const of = ranks(`${index * 272}-${index * 272 + 271}`, 272)
  return node('main', `main.c:${index}`, true, of, [node('Step', `step.c:${index}`, true, of)])
}

function bigReport(classes, members) {
  const report = emptyReport()
  report.status = 'hung'
  report.ranks = SIZE - 64
  report.ranks_expected = SIZE
  report.hosts = 256
  report.no_progress_ns = 95e9
  report.calls = Array.from({ length: 40 }, (_, index) =>
    call(`MPI_${OPERATIONS[index % 10]}`, `${index + 1} × MPI_DOUBLE`, `step.c:${100 + index}`,
      'Step'))
  const culprits = ranks('77', 1)
  report.findings = [findingOf(culprits, ranks('0-76,78-16383', SIZE - 1))]
  report.communicators = [bigCommunicator(classes, members)]
  report.looked_at.hosts = bigHosts()
  report.looked_at.missing = ranks('16320-16383', 64)
  report.timeline = {
    span: 4e8,
    classes: classes.slice(0, 64).map((item, index) => ({
      ranks: item.ranks,
      shown: index,
      culprit: item.culprit,
      spans: bigSpans(index),
    })),
    left_out: '',
  }
  report.stacks.root = node('', '', false, ranks('0-16319', SIZE - 64),
    Array.from({ length: 60 }, (_, index) => bigStack(index)))
  return report
}

/** 16,384 ranks in twelve classes. */
export function classes() {
  const items = Array.from({ length: 12 }, (_, index) => ({
    ranks: index === 3 ? ranks('77', 1) : ranks(`${index * 1_400}-${index * 1_400 + 1_399}`, 1_400),
    culprit: index === 3,
    mixed: false,
    entered: 8_990 + (index % 3),
    runs: bigRuns(389 + (index % 3), index === 3 ? 1 : 0, 5, 2),
  }))
  items[11] = {
    ranks: ranks('16320-16383', 64),
    culprit: false,
    mixed: false,
    entered: 0,
    runs: [[8_601, COLUMNS, NO_TRACE, null]],
  }
  items[10].runs = [[8_601, 50, OVERWRITTEN, null], ...items[10].runs.slice(50)]
  const members = [77, 0, 1, 3]
  let done = 78
  for (let index = 0; done < SIZE - 64; index++) {
    const length = Math.min(128, SIZE - 64 - done)
    members.push(length, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10][index % 10])
    done += length
  }
  return bigReport(items, [...members, 64, 11])
}

/** 16,384 ranks of which no two are alike, in as many classes as fit. */
export function unlike() {
  const items = Array.from({ length: 256 }, (_, index) => ({
    ranks: index < 250 ? ranks(String(index), 1) : ranks(`${index}-16383…`, 2_689),
    culprit: index === 77,
    mixed: index >= 250,
    entered: 8_990,
    runs: bigRuns(380 + (index % 15), index, 40, index % 40),
  }))
  const members = Array.from({ length: SIZE }, (_, local) =>
    [1, local < 250 ? local : 250 + (local % 6)]).flat()
  const report = bigReport(items, members)
  report.left_out = ['16134 ranks that did not all do the same are in 6 classes']
  return report
}

/** A job in which nothing was found, and of which little is known. */
export function nothing() {
  return emptyReport()
}

const dirty = (text) => [MARKUP, BIDI, ANSI, text].join(' ')

/** The hang, with all of its text replaced by hostile text. */
export function hostile() {
  const report = hang()
  const spoil = (value) => {
    if (typeof value === 'string') return dirty(value)
    if (Array.isArray(value)) return value.map(spoil)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, spoil(part)]))
  }
  const keep = ['format', 'version', 'status', 'taken_at']
  const spoiled = Object.fromEntries(Object.entries(report).map(([key, part]) =>
    [key, keep.includes(key) ? part : spoil(part)]))
  spoiled.findings.forEach((finding, index) => {
    const clean = report.findings[index]
    for (const key of ['certainty', 'kind_certainty', 'weight']) finding[key] = clean[key]
    finding.sites.forEach((item, at) => (item.role = clean.sites[at].role))
  })
  spoiled.graph.nodes.forEach((item, index) => (item.kind = report.graph.nodes[index].kind))
  spoiled.findings[0].title = dirty('a title ') + LONG
  spoiled.findings[0].sites[0].function = LONG
  spoiled.findings[0].sites[0].source[0].text = LONG
  spoiled.calls[1].text = LONG
  spoiled.communicators[0].name = LONG
  spoiled.graph.nodes[0].lines = [LONG, dirty('x')]
  spoiled.stacks.root.callees[0].function = LONG
  spoiled.difference.rows[0].left = LONG
  spoiled.looked_at.hosts[0].name = LONG
  return spoiled
}

export const SAMPLES = { hang, cycle, classes, unlike, nothing, hostile }
