// The data of a report, version 1: what collector/export/html.cc writes into the page and what the
// page draws. This file is its specification; both sides are made from the same commit, so that
// the page need not read other versions.
//
// The size is bounded by classes of ranks that did the same, not by ranks or calls. What a bound
// left out is named in `left_out`, and in the panel that it is missing from.
//
// All text comes from the job (names of hosts, files, functions, communicators) and is hostile: it
// is shown as text, never as HTML. Times are nanoseconds after `begin_ns` unless a name says
// otherwise; null: unknown.

/** Some ranks: how many, and a text such as "0-3,8" that ends with "…" if it was cut. */
export interface Ranks {
  text: string
  count: number
}

/** A call of the program: what, with its arguments, and from where. */
export interface Call {
  operation: string
  text: string // "MPI_Allreduce  (1 × MPI_DOUBLE, MPI_SUM)"
  place: string // "solver.c:88"; empty: unknown
  function: string // empty: unknown
}

/** A line of a stack, innermost first. */
export interface Frame {
  function: string
  place: string
  user: boolean // the user's code; others are of MPI, Python and other frameworks
}

export interface SourceLine {
  number: number
  text: string
  marked: boolean
}

/** A place in the program where ranks are. */
export interface Site {
  ranks: Ranks
  role: 'culprit' | 'waiting'
  state: string // as "state" of docs/json.md
  call: string // empty: none
  place: string
  function: string
  source: SourceLine[] // empty: the source could not be read
  stack: Frame[]
}

export interface Finding {
  kind: string
  certainty: 'proven' | 'likely' | 'suspected' | 'inconclusive'
  kind_certainty: 'proven' | 'likely' | 'suspected' | 'inconclusive'
  weight: 'fails' | 'warning' | 'note' | 'known'
  hangs: boolean
  culprits: Ranks
  waiting: Ranks
  communicator: string // empty: none
  operation: string
  sequence: number | null
  title: string
  why: string
  fix: string
  values: string[]
  notes: string[]
  sites: Site[]
  /** The page of the kind, without links: "## " headings, "```" blocks, "- " lists, tables. */
  page: string
}

/** What the members did with one sequence number of a communicator. */
export enum State {
  Done = 0, // called it, and it returned
  Inside = 1, // called it, and is inside
  NotThere = 2, // has not called it
  Overwritten = 3, // called it or an earlier one; the record is lost
  NoTrace = 4, // nothing is known of the rank
}

/** `length` numbers from `first` on, at which the ranks made the same call. */
export type Run = [first: number, length: number, state: State, call: number | null]

/** Members that did the same in the window. */
export interface MemberClass {
  ranks: Ranks
  culprit: boolean
  /** More classes than fit: these ranks did not all do the same, and `runs` shows one of them. */
  mixed: boolean
  entered: number // the newest sequence number entered
  runs: Run[] // without gaps, from `first` to `last` of the communicator
}

/** First and last arrival at one sequence number. */
export type Arrival = [sequence: number, first: number, last: number, last_rank: number]

export interface Communicator {
  name: string
  size: number
  highest: number // the newest sequence number that any member entered
  first: number // the window of sequence numbers that are shown
  last: number
  marked: number | null // the one that the verdict is about
  classes: MemberClass[]
  /** Pairs of a number of members and their class, in the order of their rank in it. */
  members: number[]
  /** Pairs of a world rank and a number: the members' world ranks, in the same order. */
  ranks: number[]
  arrivals: Arrival[]
}

/** Who waits for whom. */
export interface GraphNode {
  id: number
  kind: 'ranks' | 'collective' | 'device' | 'absent'
  lines: string[]
  ranks: Ranks | null
  culprit: boolean
  stuck: boolean
  /** It is in a cycle of waits. */
  cycle: boolean
}

export interface GraphEdge {
  from: number
  to: number
  label: string // empty: it waits there
  cycle: boolean
}

/** Frames that stacks have in common, outermost first; the root has no function. */
export interface StackNode {
  function: string
  place: string
  user: boolean
  ranks: Ranks
  thread: string // a thread other than the main one: its name; else empty
  callees: StackNode[]
}

/** A call from `start` on; `length` is null while the ranks are inside it. */
export type Span = [start: number, length: number | null, call: number]

export interface TimelineClass {
  ranks: Ranks
  shown: number // the rank whose calls these are
  culprit: boolean
  spans: Span[] // by start
}

/** How often a rank was the last one to arrive at a collective. */
export interface Straggler {
  rank: number
  host: string
  last: number // collectives to which it came last
  of: number // collectives of which all arrivals are known
  mean_late: number // behind the first one, of those to which it came last
  most_late: number
}

export interface Difference {
  left: string // "rank 0 on node1, pid 4711"
  right: string
  summary: string // "the same 57 calls, then they differ"
  rows: { left: string; right: string; same: boolean; first: boolean }[]
}

export interface Host {
  name: string
  ranks: Ranks
  clock_offset_ms: number | null // null: not measured
}

export interface Report {
  format: 'rollcall-report'
  version: 1
  rollcall: string // the version that made it
  status: 'hung' | 'failed' | 'stopped' | 'finished' | 'running' | 'no-ranks'
  ranks: number // with a trace
  ranks_expected: number
  hosts: number
  no_progress_ns: number | null
  taken_at: string // ISO 8601, UTC; empty: unknown
  begin_ns: number // of the clock of the trace; for reference only
  findings: Finding[]
  notes: string[]
  calls: Call[] // all `call` numbers refer to it
  communicators: Communicator[] // the one that the verdict is about first
  graph: { nodes: GraphNode[]; edges: GraphEdge[]; left_out: string }
  stacks: { root: StackNode; left_out: string }
  timeline: { span: number; classes: TimelineClass[]; left_out: string }
  stragglers: Straggler[] // worst first
  difference: Difference | null
  looked_at: {
    hosts: Host[]
    missing: Ranks // ranks without a trace
    problems: string[] // damaged files and the like
    sources: string[] // directories, files or addresses that were read
    facts: [name: string, value: string][] // versions, options
  }
  left_out: string[]
}
