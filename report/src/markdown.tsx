// The part of Markdown that the pages of docs/verdicts use. Builds elements, so that nothing in a
// page can become HTML.
import type { ComponentChildren } from 'preact'

type Block =
  | { type: 'heading'; level: number; text: string }
  | { type: 'code'; text: string }
  | { type: 'list'; ordered: boolean; items: string[] }
  | { type: 'table'; rows: string[][] }
  | { type: 'paragraph'; text: string }

const ITEM = /^(-|\d+\.) +/
const RULE = /^\|[\s|:-]+\|$/

function endOfBlock(line: string): boolean {
  return line.trim() === '' || /^(#{1,3} |```|\|)/.test(line) || ITEM.test(line)
}

class Reader {
  private at = 0
  constructor(private readonly lines: string[]) {}

  blocks(): Block[] {
    const blocks: Block[] = []
    while (this.at < this.lines.length) {
      const block = this.block(this.lines[this.at])
      if (block) blocks.push(block)
    }
    return blocks
  }

  private block(line: string): Block | null {
    if (line.trim() === '' || /^<!-{2}/.test(line)) {
      this.at++
      return null
    }
    if (line.startsWith('```')) return this.code()
    const heading = /^(#{1,3}) +(.*)$/.exec(line)
    if (heading) {
      this.at++
      return { type: 'heading', level: heading[1].length, text: heading[2] }
    }
    if (ITEM.test(line)) return this.list(/^\d/.test(line))
    if (line.startsWith('|')) return this.table()
    return { type: 'paragraph', text: this.joined('') }
  }

  private code(): Block {
    const start = ++this.at
    while (this.at < this.lines.length && !this.lines[this.at].startsWith('```')) this.at++
    return { type: 'code', text: this.lines.slice(start, this.at++).join('\n') }
  }

  private joined(first: string): string {
    const parts = [this.lines[this.at++].slice(first.length).trim()]
    while (this.at < this.lines.length && !endOfBlock(this.lines[this.at])) {
      parts.push(this.lines[this.at++].trim())
    }
    return parts.join(' ')
  }

  private list(ordered: boolean): Block {
    const items: string[] = []
    for (;;) {
      const mark = ITEM.exec(this.lines[this.at] ?? '')
      if (!mark) return { type: 'list', ordered, items }
      items.push(this.joined(mark[0]))
    }
  }

  private table(): Block {
    const rows: string[][] = []
    while (this.lines[this.at]?.startsWith('|')) {
      const line = this.lines[this.at++].trim()
      if (!RULE.test(line)) rows.push(line.replace(/^\||\|$/g, '').split('|').map((c) => c.trim()))
    }
    return { type: 'table', rows }
  }
}

function inline(text: string): ComponentChildren {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/)
  return parts.map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>
    if (part.startsWith('**')) return <strong>{inline(part.slice(2, -2))}</strong>
    return <em>{inline(part.slice(1, -1))}</em>
  })
}

function Table({ rows: [head, ...body] }: { rows: string[][] }) {
  const isEmpty = !head || head.every((cell) => cell === '')
  return (
    <div class="wide">
      <table>
        {!isEmpty && (
          <thead><tr>{head.map((cell) => <th scope="col">{inline(cell)}</th>)}</tr></thead>
        )}
        <tbody>
          {body.map((row) => <tr>{row.map((cell) => <td>{inline(cell)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  )
}

function show(block: Block): ComponentChildren {
  switch (block.type) {
    case 'heading':
      return block.level === 1 ? <h4>{inline(block.text)}</h4> : <h5>{inline(block.text)}</h5>
    case 'code':
      return <pre class="code" tabIndex={0}>{block.text}</pre>
    case 'list': {
      const items = block.items.map((item) => <li>{inline(item)}</li>)
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>
    }
    case 'table':
      return <Table rows={block.rows} />
    case 'paragraph':
      return <p>{inline(block.text)}</p>
  }
}

export function Markdown({ text }: { text: string }) {
  return <div class="prose">{new Reader(text.split('\n')).blocks().map(show)}</div>
}
