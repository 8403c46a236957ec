// Checks that hold for every page: the panels show what the page's own data say.
import assert from 'node:assert/strict'
import { importSource } from './sources.mjs'

const { boxesOf } = await importSource('stack_tree.ts')
const { visible, cut } = await importSource('text.ts')

/** What one line of HTML makes of white space. */
const flat = (text) => text.replace(/\s+/g, ' ').trim()
const shown = (text, length) => flat(cut(visible(text), length).replace(/…$/, ''))

export const readData = (page) =>
  page.evaluate(() => JSON.parse(document.getElementById('report-data').textContent))

const countOf = (page, selector) => page.locator(selector).count()

async function textOf(page, selector) {
  return flat((await page.locator(selector).first().textContent()) ?? '')
}

async function includes(page, selector, text, length = 60) {
  const found = await textOf(page, selector)
  assert.ok(found.includes(shown(text, length)), `${selector}: ${found.slice(0, 300)}`)
}

async function checkVerdict(page, { findings, status, notes }) {
  const [finding, ...others] = findings
  if (!finding) {
    const headline = await textOf(page, '#verdict h1')
    assert.match(headline, /Nothing was found|no cause was found|no traces of ranks/)
    return
  }
  await includes(page, '#verdict .status', status === 'no-ranks' ? 'no ranks' : status, 40)
  await includes(page, '#verdict .certainty', finding.certainty)
  await includes(page, '#verdict h1', finding.title)
  await includes(page, '#verdict .explanation', finding.why)
  await includes(page, '#verdict .explanation', finding.fix)
  for (const note of finding.notes) await includes(page, '#verdict .explanation', note)
  assert.equal(await countOf(page, '#verdict > .sites > .site'), Math.min(6, finding.sites.length))
  const sites = [...finding.sites].sort((a, b) =>
    Number(b.role === 'culprit') - Number(a.role === 'culprit'))
  for (const [index, site] of sites.slice(0, 6).entries()) {
    const selector = `#verdict > .sites > .site:nth-child(${index + 1})`
    for (const part of [site.role, site.ranks.text, site.call, site.place, site.function]) {
      await includes(page, selector, part)
    }
    assert.equal(await countOf(page, `${selector} .line`), site.source.length)
    const marked = site.source.filter((line) => line.marked).length
    assert.equal(await countOf(page, `${selector} .line.marked`), marked)
    assert.equal(await countOf(page, `${selector} .stack li`), Math.min(60, site.stack.length))
  }
  assert.equal(await countOf(page, '#verdict .further'), Math.min(20, others.length))
  assert.equal(await countOf(page, '#verdict > .notes li'), notes.length)
}

async function checkMatrix(page, { communicators }) {
  if (communicators.length === 0) {
    await includes(page, '#matrix .empty', 'No collective calls are recorded.')
    return
  }
  const [first] = communicators
  const { classes, marked } = first
  assert.equal(await countOf(page, '#matrix .class-table tbody tr'), Math.min(64, classes.length))
  const culprits = classes.filter(({ culprit }) => culprit).length
  assert.equal(await countOf(page, '#matrix .class-table tr.culprit'), Math.min(64, culprits))
  await includes(page, '#matrix-cursor', `#${marked ?? first.last}:`)
  const calls = new Set(classes.flatMap(({ runs }) => runs.map((run) => run[3])))
  calls.delete(null)
  assert.equal(await countOf(page, '#matrix .legend.calls li'), Math.min(8, calls.size))
  const members = first.members.filter((_, index) => index % 2 === 0)
  assert.equal(members.reduce((sum, many) => sum + many, 0), first.size, 'members')
  const ranks = first.ranks.filter((_, index) => index % 2 === 1)
  assert.equal(ranks.reduce((sum, many) => sum + many, 0), first.size, 'ranks')
  for (const { runs } of classes) {
    let next = first.first
    for (const [start, length] of runs) {
      assert.equal(start, next, 'runs are without gaps')
      next += length
    }
    assert.equal(next, first.last + 1, 'runs end with the window')
  }
  if (communicators.length > 1) {
    const options = (await countOf(page, '#matrix .tools select option')) ||
      (await countOf(page, '#matrix .tools fieldset:first-child label'))
    assert.equal(options, communicators.length)
  }
}

async function checkGraph(page, { graph }) {
  assert.equal(await countOf(page, '#waits .node'), graph.nodes.length)
  assert.equal(await countOf(page, '#waits .edge'), graph.edges.length)
  assert.equal(await countOf(page, '#waits .edge.cycle'), graph.edges.filter((e) => e.cycle).length)
  assert.equal(await countOf(page, '#waits .graph-list li'), graph.nodes.length)
  const culprits = graph.nodes.filter(({ culprit }) => culprit).length
  assert.equal(await countOf(page, '#waits .node.culprit'), culprits)
  if (graph.nodes.length === 0) await includes(page, '#waits .empty', 'No rank waits')
  if (graph.left_out) await includes(page, '#waits .left-out', graph.left_out)
}

async function checkStacks(page, { stacks: { root } }) {
  const boxes = boxesOf(root)
  const drawn = boxes.filter(({ weight }) => weight / boxes[0].weight >= 0.0015)
  assert.equal(await countOf(page, '#stacks .frame'), root.callees.length > 0 ? drawn.length : 0)
  if (root.callees.length === 0) await includes(page, '#stacks .empty', 'No stacks')
}

async function checkTimeline(page, report) {
  const { timeline: { classes }, stragglers } = report
  if (classes.length > 0) {
    const culprit = classes.find((item) => item.culprit) ?? classes[0]
    await includes(page, '#timeline-cursor', culprit.ranks.text, 40)
    const calls = new Set(classes.flatMap(({ spans }) => spans.map((span) => span[2])))
    assert.equal(await countOf(page, '#timeline .legend.calls li'), Math.min(8, calls.size))
  } else {
    await includes(page, '#timeline .empty', 'No calls with times')
  }
  const late = await countOf(page, '#timeline .stragglers tbody tr')
  assert.equal(late, Math.min(8, stragglers.length))
  const arrivals = report.communicators[0]?.arrivals ?? []
  assert.equal(await countOf(page, '#timeline .skew'), arrivals.length > 0 ? 1 : 0)
}

async function checkDifference(page, { difference }) {
  if (!difference) {
    await includes(page, '#difference .empty', 'No two ranks are compared')
    return
  }
  const { rows } = difference
  const counts = {
    first: rows.filter(({ first }) => first).length,
    same: rows.filter(({ same, first }) => same && !first).length,
    other: rows.filter(({ same, first }) => !same && !first).length,
  }
  for (const [name, many] of Object.entries(counts)) {
    assert.equal(await countOf(page, `#difference tbody tr.${name}`), many)
  }
  await includes(page, '#difference .summary', difference.summary)
}

async function checkLookedAt(page, { looked_at: { hosts, missing, problems, facts } }) {
  assert.equal(await countOf(page, '#looked-at .hosts tbody tr'), Math.min(12, hosts.length))
  assert.equal(await countOf(page, '#looked-at .facts dt'), facts.length)
  for (const [index, [name, value]] of facts.entries()) {
    await includes(page, `#looked-at .facts div:nth-child(${index + 1})`, name)
    await includes(page, `#looked-at .facts div:nth-child(${index + 1})`, value)
  }
  for (const problem of problems.slice(0, 12)) await includes(page, '#looked-at', problem)
  assert.equal(await countOf(page, '#looked-at .missing'), missing.count > 0 ? 1 : 0)
}

async function checkLayout(page) {
  const [inner, wide] = await page.evaluate(() =>
    [document.documentElement.clientWidth, document.documentElement.scrollWidth])
  assert.ok(wide <= inner, `the page is ${wide} wide, the window ${inner}`)
  assert.equal(await countOf(page, 'main > .panel'), 7)
  assert.equal(await countOf(page, '[style*="url("]'), 0)
  assert.equal(await page.locator('#static').isVisible(), false)
}

export async function checkPage(page) {
  const report = await readData(page)
  await checkLayout(page)
  await checkVerdict(page, report)
  await checkMatrix(page, report)
  await checkGraph(page, report)
  await checkStacks(page, report)
  await checkTimeline(page, report)
  await checkDifference(page, report)
  await checkLookedAt(page, report)
}

/** Works through the page as a reader does, so that whatever fails on the way is recorded. */
export async function exercise(page) {
  for (const summary of await page.locator('summary:visible').all()) {
    await summary.focus()
    await page.keyboard.press('Enter')
  }
  for (const scroller of await page.locator('.scroller').all()) {
    await scroller.focus()
    for (const key of ['ArrowLeft', 'ArrowDown', 'Home', 'End', '+', '-', 'ArrowUp', 'PageDown']) {
      await page.keyboard.press(key)
    }
    const box = await scroller.boundingBox()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 40)
  }
  for (const mode of await page.locator('#matrix .choice input').all()) await mode.check()
  const frame = page.locator('#stacks .frame').last()
  if (await frame.count()) {
    await frame.focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
  }
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())))
}
