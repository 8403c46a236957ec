// What the report rests on, and what it lacks.
import type { Host, Report } from './data'
import { count } from './text'
import { Capped, Empty, Panel, RanksText, Text } from './widgets'

function TextList({ title, items, noun }: { title: string; items: string[]; noun: string }) {
  if (items.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <Capped items={items} limit={12} noun={noun} render={(shown) => (
        <ul>{shown.map((item) => <li><Text text={item} limit={600} /></li>)}</ul>
      )} />
    </>
  )
}

const HOST_COLUMNS = ['Host', 'Ranks', 'Clock offset']

function Hosts({ hosts }: { hosts: Host[] }) {
  if (hosts.length === 0) return <Empty>The hosts of the ranks are not known.</Empty>
  const offset = (host: Host) =>
    host.clock_offset_ms === null ? 'not measured' : `${host.clock_offset_ms} ms`
  return (
    <Capped items={hosts} limit={12} noun="host" render={(shown) => (
      <div class="wide">
        <table class="hosts">
          <thead>
            <tr>{HOST_COLUMNS.map((name) => <th scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {shown.map((host) => (
              <tr>
                <th scope="row"><Text text={host.name} limit={120} /></th>
                <td><RanksText ranks={host.ranks} /></td>
                <td class="figure">{offset(host)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )} />
  )
}

function Facts({ facts }: { facts: [string, string][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div><dt><Text text={name} /></dt><dd><Text text={value} limit={200} /></dd></div>
      ))}
    </dl>
  )
}

export function LookedAtPanel({ report }: { report: Report }) {
  const { hosts, missing, problems, sources, facts } = report.looked_at
  return (
    <Panel
      id="looked-at"
      title="What was looked at"
      aside={count(report.ranks, 'rank') + (report.hosts ? `, ${count(report.hosts, 'host')}` : '')}
    >
      <Facts facts={facts} />
      {missing.count > 0 && (
        <p class="missing">
          No trace of {count(missing.count, 'rank')}: <Text text={missing.text} />
        </p>
      )}
      <TextList title="Problems of the input" items={problems} noun="problem" />
      <TextList title="Left out of this page" items={report.left_out} noun="limit" />
      <TextList title="Notes" items={report.notes} noun="note" />
      <h3>Hosts</h3>
      <Hosts hosts={hosts} />
      <TextList title="Sources" items={sources} noun="source" />
    </Panel>
  )
}
