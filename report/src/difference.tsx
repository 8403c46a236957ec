// Two ranks' calls side by side, up to where they differ.
import type { Difference } from './data'
import { Empty, Panel, Text } from './widgets'

type Row = Difference['rows'][number]

function DifferenceRow({ row }: { row: Row }) {
  const name = row.first ? 'first' : row.same ? 'same' : 'other'
  return (
    <tr class={name}>
      <td><Text text={row.left} /></td>
      <td class="sign">
        <span aria-hidden="true">{row.same ? '=' : '≠'}</span>
        <span class="visually-hidden">
          {row.first ? 'the first difference' : row.same ? 'the same' : 'different'}
        </span>
      </td>
      <td><Text text={row.right} /></td>
    </tr>
  )
}

function DifferenceTable({ difference }: { difference: Difference }) {
  return (
    <>
      <p class="summary"><Text text={difference.summary} limit={600} /></p>
      <div class="wide">
        <table class="difference">
          <thead>
            <tr>
              <th scope="col"><Text text={difference.left} /></th>
              <th scope="col"><span class="visually-hidden">Comparison</span></th>
              <th scope="col"><Text text={difference.right} /></th>
            </tr>
          </thead>
          <tbody>{difference.rows.map((row) => <DifferenceRow row={row} />)}</tbody>
        </table>
      </div>
    </>
  )
}

export function DifferencePanel({ difference }: { difference: Difference | null }) {
  return (
    <Panel id="difference" title="Two histories side by side">
      {difference
        ? <DifferenceTable difference={difference} />
        : <Empty>No two ranks are compared, because no divergence was found.</Empty>}
    </Panel>
  )
}
